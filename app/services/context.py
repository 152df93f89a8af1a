"""Use cases: the context a host sends to its model, and what a search knows of a conversation."""

import asyncio
from dataclasses import dataclass
from typing import Final

from app.domain.archives import Archive
from app.domain.context.coverage import Uncovered, Watermark, uncovered
from app.domain.context.fitting import FittedContext, fit_context
from app.domain.documents import BaseDocument, StoredDocument
from app.domain.errors import InvalidInput, session_not_found
from app.domain.excerpts import newest_errors
from app.domain.freshness import Freshness, freshness, placeholder
from app.domain.scope import Scope
from app.domain.sessions import Session
from app.domain.tokens import TokenCounter
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.document import render_document
from app.domain.working_memory.sections import Bodies
from app.storage import archives, context, sessions, working_memory
from app.storage.context import ArchiveCounts
from app.storage.transaction import Database, Transaction

RECENT_MESSAGES: Final = 20


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


@dataclass(frozen=True, slots=True)
class _Memory:
    """What a session remembers, and what its newest document does not cover yet."""

    session: Session
    base: BaseDocument
    document: StoredDocument | None
    known_archives: tuple[Archive, ...]
    counts: ArchiveCounts
    deferred: tuple[DeferredItem, ...]

    @property
    def newer(self) -> list[Archive]:
        return [archive for archive in self.known_archives if archive.archive_no > self.base.archive_no]

    @property
    def uncovered(self) -> Uncovered:
        return uncovered(self.base.last_seq, self.session.last_seq, self.newer, self.session.anchor_seq)

    @property
    def bodies(self) -> Bodies | None:
        has_sections = self.document is not None and self.document.legacy is None
        return newest_errors(self.document.bodies).bodies if self.document and has_sections else None

    @property
    def placeholder(self) -> str:
        """Return what is shown where there are no sections: an imported overview, or that there is none."""
        return self.document.text if self.document and self.document.legacy is not None else placeholder(self.newer)

    def with_messages(self, fitted: FittedContext) -> AssembledContext:
        written = next((a for a in self.known_archives if self.document and a.archive_no == self.base.archive_no), None)
        return AssembledContext(
            fitted=fitted,
            watermark=Watermark(self.base.last_seq, self.session.last_seq, self.counts.unfinished),
            freshness=freshness(self.newer, has_document=self.document is not None),
            is_placeholder=self.document is None and bool(fitted.overview),
            archives=self.session.archive_count,
            failed_archives=self.counts.failed,
            document_archive_no=self.document.archive_no if self.document else None,
            document_provider=written.document_provider if written else None,
            deferred=self.deferred,
        )


class Contexts:
    """Assemble contexts, each from one snapshot."""

    def __init__(self, database: Database, count_tokens: TokenCounter) -> None:
        self._database = database
        self._count_tokens = count_tokens

    async def assemble(self, scope: Scope, session_name: str, token_budget: int) -> AssembledContext:
        """Return the newest document and the messages it does not cover, each once, within token_budget tokens.

        Raises: NotFound, InvalidInput for a negative budget.
        """
        if token_budget < 0:
            raise InvalidInput("token_budget must not be negative.", {"field": "token_budget"})
        async with self._database.transaction(scope, snapshot=True) as tx:
            memory = await _remembered(tx, scope, session_name)
            conversation = await context.conversation(tx, scope, memory.session, memory.uncovered, budget=token_budget)
        # In a thread: a turn that is larger than the budget is cut by counting it again and again.
        fitted = await asyncio.to_thread(
            fit_context,
            memory.bodies,
            conversation,
            budget=token_budget,
            count_tokens=self._count_tokens,
            placeholder=memory.placeholder,
        )
        return memory.with_messages(fitted)

    async def recent(self, scope: Scope, session_name: str, max_messages: int = RECENT_MESSAGES) -> AssembledContext:
        """Return the newest document and the newest messages it does not cover, at most max_messages, 0 for none.

        Nothing is shortened; a result stands there only with its call.

        Raises: NotFound, InvalidInput for a negative number.
        """
        if max_messages < 0:
            raise InvalidInput("max_messages must not be negative.", {"field": "max_messages"})
        async with self._database.transaction(scope, snapshot=True) as tx:
            memory = await _remembered(tx, scope, session_name)
            newest = await context.newest_messages(tx, scope, memory.session, memory.uncovered, most=max_messages)
        overview = render_document(memory.bodies) if memory.bodies else memory.placeholder
        return memory.with_messages(
            FittedContext(
                overview=overview,
                overview_tokens=self._count_tokens(overview),
                messages=tuple(newest),
                message_tokens=sum(message.tokens for message in newest),
                dropped_messages=memory.uncovered.total - len(newest),
            )
        )


async def _remembered(tx: Transaction, scope: Scope, session_name: str) -> _Memory:
    session = await sessions.get(tx, scope, session_name)
    if session is None:
        raise session_not_found(session_name)
    base = await working_memory.base_document(tx, scope, session.id)
    return _Memory(
        session=session,
        base=base,
        document=await working_memory.get(tx, scope, session.id, base),
        known_archives=tuple(await archives.list_all(tx, scope, session.id, after=max(base.archive_no - 1, 0))),
        counts=await context.archive_counts(tx, scope, session.id),
        deferred=tuple(await working_memory.waiting_items(tx, scope, session.id)),
    )
