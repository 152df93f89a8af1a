"""Use case: the context a host sends to its model."""

from dataclasses import dataclass

from app.domain.context import FittedContext, Watermark, fit_context
from app.domain.errors import InvalidInput, session_not_found
from app.domain.excerpts import newest_errors
from app.domain.freshness import Freshness, freshness, placeholder
from app.domain.scope import Scope
from app.domain.tokens import TokenCounter
from app.domain.working_memory.deferral import DeferredItem
from app.storage import archives, context, sessions, working_memory
from app.storage.transaction import Database

_UNFINISHED = frozenset({"pending", "running"})


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """A context within its budget, and how current it is.

    is_placeholder: the overview is no document, but says that there is none.
    """

    fitted: FittedContext
    watermark: Watermark
    freshness: Freshness
    is_placeholder: bool
    archives: int
    failed_archives: int
    document_archive_no: int | None
    document_provider: str | None
    deferred: tuple[DeferredItem, ...]


class Contexts:
    """Assemble contexts from one snapshot."""

    def __init__(self, database: Database, count_tokens: TokenCounter) -> None:
        self._database = database
        self._count_tokens = count_tokens

    async def assemble(self, scope: Scope, session_name: str, token_budget: int) -> AssembledContext:
        """Return the newest document and every message it does not cover, each once, within token_budget tokens.

        Raises: NotFound, InvalidInput for a negative budget.
        """
        if token_budget < 0:
            raise InvalidInput("token_budget must not be negative.", {"field": "token_budget"})
        async with self._database.transaction(scope, snapshot=True) as tx:
            session = await sessions.get(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            base = await working_memory.base_document(tx, scope, session.id)
            document = await working_memory.get(tx, scope, session.id, base)
            uncovered = await context.uncovered_messages(tx, scope, session.id)
            deferred = await working_memory.waiting_items(tx, scope, session.id)
            every = await archives.list_all(tx, scope, session.id)
        fitted = fit_context(
            newest_errors(document.bodies).bodies if document else None,
            uncovered,
            budget=token_budget,
            count_tokens=self._count_tokens,
            placeholder=placeholder(every),
        )
        newer = [archive for archive in every if archive.archive_no > base.archive_no]
        written = next((a for a in every if document and a.archive_no == document.archive_no), None)
        return AssembledContext(
            fitted=fitted,
            watermark=Watermark(
                covered_through_seq=base.last_seq,
                last_seq=session.last_seq,
                pending_archives=sum(a.status in _UNFINISHED for a in every),
            ),
            freshness=freshness(newer, has_document=document is not None),
            is_placeholder=document is None and bool(fitted.overview),
            archives=len(every),
            failed_archives=sum(a.status == "failed" for a in every),
            document_archive_no=document.archive_no if document else None,
            document_provider=written.document_provider if written else None,
            deferred=tuple(deferred),
        )
