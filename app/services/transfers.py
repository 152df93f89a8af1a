"""Use cases: take a whole session out, and bring one in."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace

from app.domain.archives import StepOutcome
from app.domain.errors import AlreadyExists, InvalidInput, session_not_found
from app.domain.messages import countable_text
from app.domain.retention import Retention, RetentionMode, TurnRetention
from app.domain.scope import Scope
from app.domain.sessions import Session, check_session_name
from app.domain.tokens import TokenCounter
from app.domain.tool_results.externalising import readdressed
from app.domain.transfer import (
    End,
    Head,
    Itinerary,
    MovedArchive,
    MovedDocument,
    MovedItem,
    MovedMessage,
    MovedToolResult,
    Record,
)
from app.domain.working_memory.sizes import size_of
from app.storage import archives, messages, sessions, transfer, working_memory
from app.storage.transaction import Database, Transaction, statement_in


class Transfers:
    """Export and import sessions: rows out, rows in, nothing in between."""

    def __init__(self, database: Database, count_tokens: TokenCounter, *, max_attempts: int) -> None:
        self._database = database
        self._count_tokens = count_tokens
        self._max_attempts = max_attempts

    async def export(self, scope: Scope, session_name: str) -> AsyncIterator[Sequence[Record]]:
        """Yield the records of a session as it is at this moment, page by page.

        No connection is held between two pages: messages and documents are only ever added, so what was there at the
        first page is read unchanged however long the reader takes.

        Raises: NotFound, also in the middle, when the session is deleted meanwhile; Unavailable.
        """
        async with self._database.transaction(scope, snapshot=True) as tx:
            session = await sessions.get(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            sealed = await transfer.list_archives(tx, scope, session.id)
            items = await transfer.list_items(tx, scope, session.id)
        yield [
            Head(
                session.name, session.created_at, session.last_message_at, session.last_commit_at,
                _retention(session), session.anchor_seq, session.memory_policy, session.auto_commit_policy,
                session.memory_extraction_config, session.last_seq, len(sealed),
            )
        ]  # fmt: skip
        seq = 0
        while seq < session.last_seq:
            async with self._database.transaction(scope) as tx:
                page = await transfer.list_messages(tx, scope, session.id, after=seq, last_seq=session.last_seq)
            if not page:
                raise session_not_found(session_name)
            seq = page[-1].seq
            yield page
        for archive in sealed:
            yield [archive, *await self._documents(scope, session.id, archive)]
        yield items
        async for result in self._tool_results(scope, session.id, session.last_seq):
            yield [result]
        async with self._database.transaction(scope) as tx:
            if await sessions.get_by_id(tx, scope, session.id) is None:
                raise session_not_found(session_name)
        yield [End(session.last_seq, len(sealed))]

    async def _documents(self, scope: Scope, session_id: int, archive: MovedArchive) -> list[MovedDocument]:
        if not archive.has_document or archive.legacy_overview is not None:
            return []
        async with self._database.transaction(scope) as tx:
            return await transfer.list_documents(tx, scope, session_id, archive)

    async def _tool_results(self, scope: Scope, session_id: int, last_seq: int) -> AsyncIterator[MovedToolResult]:
        after = ""
        while True:
            async with self._database.transaction(scope) as tx:
                found = await transfer.next_tool_result(tx, scope, session_id, after=after)
            if found is None:
                return
            after = found.tool_result_id
            if found.seq <= last_seq:
                yield found

    async def require_free(self, scope: Scope, session_name: str) -> None:
        """Raise AlreadyExists for a name that is taken, before anybody sends a gigabyte."""
        async with self._database.transaction(scope) as tx:
            if await sessions.get(tx, scope, check_session_name(session_name)) is not None:
                raise _taken(session_name)

    async def bring_in(self, scope: Scope, session_name: str, batches: Iterator[Sequence[Record]]) -> Head:
        """Make a session of the records of an export, all of it or nothing; return its head, counted.

        Messages keep order and times, archives their ranges, documents their sections; tokens are counted anew. Work
        that was not done when the session was exported is queued here.

        batches: read in a thread; what it raises ends the import.
        Raises: AlreadyExists, InvalidInput for records that are no whole session, and what `batches` raises.
        """
        check_session_name(session_name)
        async with self._database.transaction(scope) as tx:
            arrival = _Arrival(tx, scope, session_name, self._count_tokens, self._max_attempts)
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                await arrival.take(batch)
            return await arrival.finish()


class _Arrival:
    """One import on its way through its transaction."""

    def __init__(
        self, tx: Transaction, scope: Scope, session_name: str, count_tokens: TokenCounter, max_attempts: int
    ) -> None:
        self._tx = tx
        self._scope = scope
        self._name = session_name
        self._count = count_tokens
        self._max_attempts = max_attempts
        self._itinerary = Itinerary()
        self._line = 0
        self._session_id = 0
        self._newest: MovedArchive | None = None
        self._open: list[MovedArchive] = []

    async def take(self, batch: Sequence[Record]) -> None:
        """Write the next records. Messages of a batch are written together."""
        for record in batch:
            self._line += 1
            try:
                self._itinerary.check(record)
            except InvalidInput as error:
                raise InvalidInput(f"line {self._line}: {error.message}", {"line": self._line}) from None
        said = [record for record in batch if isinstance(record, MovedMessage)]
        for record in batch:
            if isinstance(record, Head):
                await self._begin(record)
        if said:
            await self._append(said)
        for record in batch:
            await self._write(record)

    async def finish(self) -> Head:
        """End the import: counters, and work that is still to be done. Raises InvalidInput when the end is missing."""
        head = self._itinerary.head
        if head is None or not self._itinerary.ended:
            raise InvalidInput("the last line is missing: this export was cut short")
        archive_no, sealed_seq = self._itinerary.archives, self._itinerary.sealed
        if head.anchor_seq is not None and head.anchor_seq > sealed_seq:
            raise InvalidInput("anchor_seq names no archived message")
        await transfer.finish_session(
            self._tx, self._scope, self._session_id, head, sealed_seq=sealed_seq, archive_count=archive_no
        )
        await archives.seal(
            self._tx,
            self._scope,
            self._session_id,
            sealed_seq,
            retention=head.retention,
            max_attempts=self._max_attempts,
        )
        for archive in self._open:
            await self._open_steps(archive)
        return replace(head, messages=self._itinerary.messages, archives=archive_no)

    async def _open_steps(self, archive: MovedArchive) -> None:
        covered = self._newest is not None and self._newest.archive_no > archive.archive_no
        if archive.working_memory is StepOutcome.OPEN and covered:
            await transfer.close_step(self._tx, self._scope, self._session_id, archive.archive_no)
        steps = {"long_term_memory": archive.long_term_memory, "working_memory": archive.working_memory}
        for step, outcome in steps.items():
            if outcome is StepOutcome.OPEN and not (step == "working_memory" and covered):
                await transfer.open_step(
                    self._tx, self._scope, self._session_id, archive.archive_no, step, max_attempts=self._max_attempts
                )

    async def _write(self, record: Record) -> None:
        match record:
            case MovedArchive():
                await self._write_archive(record)
            case MovedDocument():
                await self._write_document(record)
            case MovedItem():
                await transfer.add_items(self._tx, self._scope, self._session_id, [record])
            case MovedToolResult():
                await transfer.add_tool_result(self._tx, self._scope, self._session_id, record)
            case _:
                return

    async def _write_archive(self, archive: MovedArchive) -> None:
        before = await transfer.tokens_through(self._tx, self._scope, self._session_id, archive.first_seq - 1)
        through = await transfer.tokens_through(self._tx, self._scope, self._session_id, archive.last_seq)
        await transfer.add_archive(
            self._tx, self._scope, self._session_id, archive, base=self._newest, tokens=through - before
        )
        if archive.has_document:
            self._newest = archive
        if StepOutcome.OPEN in {archive.working_memory, archive.long_term_memory}:
            self._open.append(archive)

    async def _write_document(self, document: MovedDocument) -> None:
        records = {}
        for section in document.sections:
            size = size_of(section.section, section.body, self._count)
            records[section.section] = transfer.section_record(section, tokens=size.tokens, bullets=size.bullets)
        await working_memory.save(
            self._tx, self._scope, self._session_id, document.archive_no, records, revision=document.revision
        )

    async def _begin(self, head: Head) -> None:
        made = await sessions.create(
            self._tx,
            self._scope,
            self._name,
            memory_policy=head.memory_policy,
            auto_commit_policy=head.auto_commit_policy,
            memory_extraction_config=head.memory_extraction_config,
        )
        if not made:
            raise _taken(self._name)
        session = await sessions.get(self._tx, self._scope, self._name)
        assert session is not None
        self._session_id = session.id

    async def _append(self, said: Sequence[MovedMessage]) -> None:
        new = [readdressed(message.new, self._name) for message in said]
        counts = await asyncio.to_thread(_counted, self._count, [countable_text(message.parts) for message in new])
        statement = await statement_in(self._tx, self._scope)
        added = await messages.append(statement, self._scope, self._name, new, counts, create_session=False)
        if added.added != len(new):
            raise InvalidInput("a client_message_id stands here twice")


def _taken(session_name: str) -> AlreadyExists:
    return AlreadyExists(
        f"Session already exists: {session_name}. An import makes a session of its own: delete that one, or take "
        "another name.",
        {"type": "session", "resource": session_name},
    )


def _counted(count_tokens: TokenCounter, texts: Sequence[str]) -> list[int]:
    return [count_tokens(text) for text in texts]


def _retention(session: Session) -> Retention:
    if session.retention_mode != RetentionMode.TURN_BUDGET:
        return Retention(session.keep_recent_count)
    turns = TurnRetention(
        session.keep_recent_turn_count, session.retained_message_token_budget, session.min_raw_tail_steps
    )
    return Retention(session.keep_recent_count, turns)
