"""What each call to a model cost, and what it answered."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.scope import Scope
from app.storage import tables as t
from app.storage.transaction import Transaction


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The price of one call; no text."""

    purpose: str
    provider: str
    model: str
    outcome: str
    latency_ms: int
    transport: str | None = None
    prompt_digest: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    error_class: str | None = None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A raw answer of a model to one step of an archive."""

    provider: str
    model: str
    transport: str
    tool_called: bool
    content: str


async def record(
    tx: Transaction, scope: Scope, call: ModelCall, *, session_id: int | None = None, archive_no: int | None = None
) -> None:
    """Note one call."""
    await tx.execute(
        sa.insert(t.model_calls).values(
            account_id=scope.account_id,
            user_id=scope.user_id,
            session_id=session_id,
            archive_no=archive_no,
            purpose=call.purpose,
            provider=call.provider,
            model=call.model,
            transport=call.transport,
            prompt_digest=call.prompt_digest,
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            latency_ms=call.latency_ms,
            outcome=call.outcome,
            error_class=call.error_class,
        )
    )


async def keep_answer(
    tx: Transaction,
    scope: Scope,
    session_id: int,
    archive_no: int,
    step: str,
    attempt: int,
    answer: StoredAnswer,
    *,
    usable: bool,
) -> None:
    """Keep a raw answer; a second one of the same attempt does not replace the first."""
    await tx.execute(
        insert(t.model_answers)
        .values(
            account_id=scope.account_id,
            session_id=session_id,
            archive_no=archive_no,
            step=step,
            attempt=attempt,
            provider=answer.provider,
            model=answer.model,
            transport=answer.transport,
            tool_called=answer.tool_called,
            content=answer.content,
            usable=usable,
        )
        .on_conflict_do_nothing()
    )


async def newest_usable_answer(
    tx: Transaction, scope: Scope, session_id: int, archive_no: int, step: str
) -> StoredAnswer | None:
    """Return the newest answer of a step that could be applied, so that a retry asks no model."""
    a = t.model_answers.c
    query = (
        sa.select(a.provider, a.model, a.transport, a.tool_called, a.content)
        .where(a.account_id == scope.account_id, a.session_id == session_id, a.archive_no == archive_no,
               a.step == step, a.usable)
        .order_by(a.attempt.desc())
        .limit(1)
    )  # fmt: skip
    row = (await tx.execute(query)).one_or_none()
    return StoredAnswer(*row) if row else None
