"""What each call to a model cost, and what it answered."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa

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
    """A raw answer of a model to one step of an archive, about the messages first_seq … last_seq.

    shortened are those it was shown in part, sections_in_part the numbers of the sections of which it saw only the
    newest items.
    """

    first_seq: int
    last_seq: int
    shortened: Sequence[int]
    sections_in_part: Sequence[int]
    provider: str
    model: str
    transport: str
    tool: str
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
) -> bool:
    """Keep a raw answer; False when the archive it is about is gone."""
    values = {
        "account_id": scope.account_id,
        "session_id": session_id,
        "archive_no": archive_no,
        "step": step,
        "attempt": attempt,
        "usable": usable,
        **asdict(answer),
        "shortened": list(answer.shortened),
    }
    columns = [t.model_answers.c[name] for name in values]
    archive = t.archives.c
    there = (
        sa.select(*(sa.literal(values[column.name], column.type) for column in columns))
        .where(archive.account_id == scope.account_id, archive.session_id == session_id,
               archive.archive_no == archive_no)
        .with_for_update(read=True, key_share=True)
    )  # fmt: skip
    kept = await tx.execute(
        sa.insert(t.model_answers).from_select(columns, there, include_defaults=False).returning(t.model_answers.c.id)
    )
    return kept.one_or_none() is not None


async def usable_answers(
    tx: Transaction, scope: Scope, session_id: int, archive_no: int, step: str
) -> list[StoredAnswer]:
    """Return the answers of a step that could be applied, the newest first, so that a retry need not ask again.

    An answer about messages of an archive that was discarded later is none of them.
    """
    a, d = t.model_answers.c, t.archives.c
    discarded_since = sa.exists().where(
        d.account_id == a.account_id, d.session_id == a.session_id, d.working_memory == "discarded",
        d.last_seq >= a.first_seq, d.first_seq <= a.last_seq, d.finished_at > a.created_at,
    )  # fmt: skip
    query = (
        sa.select(*(a[column.name] for column in fields(StoredAnswer)))
        .where(a.account_id == scope.account_id, a.session_id == session_id, a.archive_no == archive_no,
               a.step == step, a.usable, ~discarded_since)
        .order_by(a.id.desc())
    )  # fmt: skip
    return [StoredAnswer(**row) for row in (await tx.execute(query)).mappings()]
