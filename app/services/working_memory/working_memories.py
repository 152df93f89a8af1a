"""Fold an archive into the working memory, and read the newest one.

    a  one transaction: read the base document, the messages it does not cover, what waits, answers kept earlier
    b  no transaction: ask the model about each piece that no kept answer is about; keep what it said and what it cost
    c  one transaction: merge, write the seven sections, what waits, and the end of the step

A crash anywhere repeats one question at most, never half of c.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.archives import Archive, StepOutcome, parse_archive_id
from app.domain.documents import SectionRecord, StoredDocument
from app.domain.errors import JobLost, StaleDocument, archive_not_found, session_not_found
from app.domain.freshness import Freshness, freshness, placeholder
from app.domain.jobs import Job
from app.domain.prompts import SpokenMessage
from app.domain.scope import Scope
from app.domain.tokens import TokenCounter
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.differences import SectionDifference, differences
from app.domain.working_memory.document import abstract
from app.domain.working_memory.fold import fold
from app.domain.working_memory.merge import MergeResult
from app.domain.working_memory.sections import Bodies, Section
from app.domain.working_memory.sizes import size_of
from app.services.working_memory.asking import Asking, Reading, read
from app.services.working_memory.material import Material, read_material
from app.services.working_memory.questions import STEP, Questions, Standing
from app.storage import archives, jobs, sessions, working_memory
from app.storage.jobs import StepEnd
from app.storage.transaction import Database, Transaction

_MERGES: Final = 3
"""How often answers are merged when the base moves under them; the model is asked once."""


@dataclass(frozen=True, slots=True)
class CurrentWorkingMemory:
    """The newest document of a session, the archive it stands after, and what waits outside it.

    placeholder: what to show where there is no document because no model answered, else ''.
    changes: for each section the archive number and the revision of the document that last changed it.
    """

    freshness: Freshness
    placeholder: str
    document: StoredDocument | None
    archive: Archive | None
    deferred: tuple[DeferredItem, ...]
    changes: Mapping[Section, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two documents; against_no is None where there was none to compare with."""

    against_no: int | None
    sections: tuple[SectionDifference, ...]


class WorkingMemories:
    """Read working memories, and bring them up to date for the worker."""

    def __init__(self, database: Database, asking: Asking, questions: Questions, count_tokens: TokenCounter) -> None:
        self._database = database
        self._asking = asking
        self._questions = questions
        self._count_tokens = count_tokens

    async def current(self, scope: Scope, session_name: str) -> CurrentWorkingMemory:
        """Return the newest document, or that there is none yet. Raises NotFound."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            session = await sessions.get(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            base = await working_memory.base_document(tx, scope, session.id)
            newer = await archives.list_all(tx, scope, session.id, after=base.archive_no)
            return CurrentWorkingMemory(
                freshness=freshness(newer, has_document=base.archive_no > 0),
                placeholder="" if base.archive_no else placeholder(newer),
                document=await working_memory.get(tx, scope, session.id, base),
                archive=await archives.get(tx, scope, session.id, base.archive_no) if base.archive_no else None,
                deferred=tuple(await working_memory.waiting_items(tx, scope, session.id)),
                changes=await working_memory.last_changes(tx, scope, session.id, base) if base.archive_no else {},
            )

    async def after(self, scope: Scope, session_name: str, archive_id: str) -> StoredDocument | None:
        """Return the document after one archive, None while there is none. Raises NotFound."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            archive = await _require_archive(tx, scope, session_name, archive_id)
            return await working_memory.get_after(tx, scope, archive)

    async def compare(
        self, scope: Scope, session_name: str, archive_id: str, *, against: str | None = None
    ) -> Comparison:
        """Return what changed in the document after one archive since another, or since the one it was built on.

        Raises: NotFound.
        """
        async with self._database.transaction(scope, snapshot=True) as tx:
            archive = await _require_archive(tx, scope, session_name, archive_id)
            newer = await working_memory.get_after(tx, scope, archive)
            earlier = (
                await archives.newest_with_document(tx, scope, archive.session_id, before=archive.archive_no)
                if against is None
                else await _require_archive(tx, scope, session_name, against)
            )
            older = await working_memory.get_after(tx, scope, earlier) if earlier else None
        sections = differences(older.bodies if older else {}, newer.bodies if newer else {})
        return Comparison(earlier.archive_no if earlier else None, sections)

    async def process(self, job: Job) -> None:
        """Run the working-memory step of one archive to its end.

        Raises: JobLost when the job is no longer ours, ModelUnavailable, ModelRefused, ModelAnswerUnusable,
        StaleDocument, Unavailable; the step is then as it was, but for the answers that were kept.
        """
        material = await read_material(self._database, job, STEP)
        readings = await self._readings(job, material)
        for merges_left in reversed(range(_MERGES)):
            try:
                await self._apply(job, material, readings)
            except StaleDocument:
                if not merges_left:
                    raise
                material = await read_material(self._database, job, STEP)
            else:
                return

    async def _readings(self, job: Job, material: Material) -> list[Reading]:
        """Return an answer about every message, piece by piece, each asked with the document as it then stands."""
        readings: list[Reading] = []
        left: Sequence[SpokenMessage] = material.spoken
        bodies = material.document.bodies if material.document else None
        merged = self._folded(bodies, (), material.deferred)
        while left:
            reading = _kept_reading(material, left)
            if reading is None:
                known = material.document is not None or bool(readings)
                earlier = "" if known else material.earlier_overview
                standing = Standing(merged.bodies if known else None, merged.deferred, earlier)
                question = self._questions.next_question(standing, left)
                reading = await self._asking.ask(job, material, question)
            readings.append(reading)
            left = [message for message in left if message.seq > reading.last_seq]
            if left:  # what the next piece is asked with; the whole is merged when it is applied
                merged = await asyncio.to_thread(self._folded, merged.bodies, (reading,), merged.deferred)
        return readings

    def _folded(
        self, bodies: Bodies | None, readings: Sequence[Reading], deferred: Sequence[DeferredItem]
    ) -> MergeResult:
        ops = [reading.ops for reading in readings]
        return fold(bodies, ops, count_tokens=self._count_tokens, deferred=deferred)

    async def _apply(self, job: Job, material: Material, readings: Sequence[Reading]) -> None:
        bodies = material.document.bodies if material.document else None
        # In a thread: many answers take seconds, and the leases of other jobs have to be kept meanwhile.
        merged = await asyncio.to_thread(self._folded, bodies, readings, material.deferred)
        session_id, archive_no = material.archive.session_id, material.archive.archive_no
        shortened = [seq for reading in readings for seq in reading.shortened]
        end = StepEnd(
            outcome=_outcome(merged, shortened).value,
            base=material.base,
            abstract=abstract(merged.bodies),
            source=readings[-1].source if readings else "nothing",
            provider=readings[-1].provider if readings else None,
            result={"pieces": len(readings), "shortened_messages": shortened},
        )
        records = self._records(merged, material.document)
        admitted = [item for item in material.deferred if item not in set(merged.deferred)]
        fresh = [item for item in merged.deferred if item not in set(material.deferred)]
        async with self._database.transaction(material.scope) as tx:
            if not await jobs.finish_step(tx, material.scope, job, end):
                raise JobLost("The lease of this job has passed to another worker.")
            await working_memory.save(tx, material.scope, session_id, archive_no, records)
            await working_memory.admit(tx, material.scope, session_id, archive_no, admitted)
            await working_memory.defer(tx, material.scope, session_id, archive_no, fresh)

    def _records(self, merged: MergeResult, before: StoredDocument | None) -> dict[Section, SectionRecord]:
        records = {}
        for decision in merged.decisions:
            body = merged.bodies[decision.section]
            size = size_of(decision.section, body, self._count_tokens)
            old = before.sections.get(decision.section) if before else None
            records[decision.section] = SectionRecord(
                section=decision.section,
                body=body,
                tokens=size.tokens,
                tokens_before=old.tokens if old else 0,
                bullets=size.bullets,
                bullets_before=old.bullets if old else 0,
                requested_op=decision.requested,
                applied_op=decision.applied,
                guard=decision.guard or None,
                reason=decision.reason or None,
                changed=decision.changed,
            )
        return records


async def _require_archive(tx: Transaction, scope: Scope, session_name: str, archive_id: str) -> Archive:
    session = await sessions.get(tx, scope, session_name)
    if session is None:
        raise session_not_found(session_name)
    archive_no = parse_archive_id(archive_id)
    archive = await archives.get(tx, scope, session.id, archive_no) if archive_no else None
    if archive is None:
        raise archive_not_found(archive_id)
    return archive


def _kept_reading(material: Material, left: Sequence[SpokenMessage]) -> Reading | None:
    """Return the newest kept answer about exactly the next messages."""
    seqs = {message.seq for message in left}
    for answer in material.kept_answers:
        if answer.first_seq == left[0].seq and answer.last_seq in seqs:
            return read(answer)
    return None


def _outcome(merged: MergeResult, shortened: Sequence[int]) -> StepOutcome:
    if shortened:
        return StepOutcome.PARTIAL
    changed = any(decision.changed for decision in merged.decisions)
    return StepOutcome.APPLIED if changed else StepOutcome.NOTHING_TO_REMEMBER
