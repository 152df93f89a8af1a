"""The second half of a commit: fold an archive into the working memory.

    a  one transaction: read the base document, the messages it does not cover, what waits, and an answer kept earlier
    b  no transaction: ask the model, unless an answer was kept; keep what it said and what it cost
    c  one transaction: merge, write the seven sections, what waits and the end of the step

A crash anywhere repeats b at most, never half of c.
"""

import time
from dataclasses import dataclass
from typing import Final

from app.domain.archives import Archive, StepOutcome
from app.domain.documents import BaseDocument, SectionRecord, StoredDocument
from app.domain.errors import (
    AppError,
    JobLost,
    ModelAnswerUnusable,
    StaleDocument,
    session_not_found,
)
from app.domain.jobs import Job
from app.domain.messages import StoredMessage, readable_text
from app.domain.prompts import SpokenMessage
from app.domain.scope import Scope
from app.domain.tokens import TokenCounter
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.document import abstract
from app.domain.working_memory.items import count_bullets
from app.domain.working_memory.merge import MergeResult, merge
from app.domain.working_memory.operations import SectionOps, Update
from app.domain.working_memory.schema import CREATE_TOOL, UPDATE_TOOL, create_parameters, update_parameters
from app.domain.working_memory.sections import SECTIONS, Section
from app.prompts.working_memory import render_creation, render_update
from app.providers.ports import ChatModel, ToolRequest, ToolSpec, WorkingMemorySource
from app.storage import archives, jobs, messages, model_calls, sessions, working_memory
from app.storage.jobs import StepEnd
from app.storage.model_calls import ModelCall, StoredAnswer
from app.storage.transaction import Database, Transaction

STEP: Final = "working_memory"
_APPLY_ATTEMPTS: Final = 3
"""How often a merge is repeated when the base moves under it; each time without asking the model."""


@dataclass(frozen=True, slots=True)
class CurrentWorkingMemory:
    """The newest document of a session, the archive it stands after, and what waits outside it."""

    document: StoredDocument | None
    archive: Archive | None
    deferred: tuple[DeferredItem, ...]


@dataclass(frozen=True, slots=True)
class _Material:
    """Everything one update is made from."""

    scope: Scope
    archive: Archive
    base: BaseDocument
    document: StoredDocument | None
    said: tuple[StoredMessage, ...]
    deferred: tuple[DeferredItem, ...]
    kept_answer: StoredAnswer | None


@dataclass(frozen=True, slots=True)
class _Reading:
    """A model's answer as operations; source names the path by which it could be read."""

    ops: SectionOps
    source: str
    provider: str


class WorkingMemories:
    """Read working memories, and bring them up to date for the worker."""

    def __init__(
        self, database: Database, model: ChatModel, count_tokens: TokenCounter, *, deadline_seconds: float
    ) -> None:
        self._database = database
        self._model = model
        self._count_tokens = count_tokens
        self._deadline_seconds = deadline_seconds

    async def current(self, scope: Scope, session_name: str) -> CurrentWorkingMemory:
        """Return the newest document, or that there is none yet. Raises NotFound."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            session = await sessions.get(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            base = await working_memory.base_document(tx, scope, session.id)
            return CurrentWorkingMemory(
                document=await working_memory.get(tx, scope, session.id, base),
                archive=await archives.get(tx, scope, session.id, base.archive_no) if base.archive_no else None,
                deferred=tuple(await working_memory.waiting_items(tx, scope, session.id)),
            )

    async def process(self, job: Job) -> None:
        """Run the working-memory step of one archive to its end.

        Raises: JobLost when the job is no longer ours, ModelUnavailable, ModelRefused, ModelAnswerUnusable,
        StaleDocument, Unavailable; the step is then as it was.
        """
        material = await self._read(job)
        reading = await self._ask(job, material)
        for attempt in range(1, _APPLY_ATTEMPTS + 1):
            try:
                await self._apply(job, material, reading)
                return
            except StaleDocument:
                if attempt == _APPLY_ATTEMPTS:
                    raise
                material = await self._read(job)

    async def _read(self, job: Job) -> _Material:
        tenant = _JobTenant(job.account_id)
        session_id, archive_no = _step_of(job)
        async with self._database.transaction(tenant) as tx:
            scope = await jobs.scope_of(tx, job)
            archive = await archives.get(tx, scope, session_id, archive_no) if scope else None
            if scope is None or archive is None or archive.working_memory is not StepOutcome.OPEN:
                raise JobLost("The session is gone, or the step has ended already.")
            await jobs.start_archive(tx, scope, session_id, archive_no)
            base = await working_memory.base_document(tx, scope, session_id, before=archive_no)
            return _Material(
                scope=scope,
                archive=archive,
                base=base,
                document=await working_memory.get(tx, scope, session_id, base),
                said=tuple(await _uncovered(tx, scope, session_id, base, archive)),
                deferred=tuple(await working_memory.waiting_items(tx, scope, session_id)),
                kept_answer=await model_calls.newest_usable_answer(tx, scope, session_id, archive_no, STEP),
            )

    async def _ask(self, job: Job, material: _Material) -> _Reading:
        """Return what the model wants done: from a kept answer, else by asking."""
        creating = material.document is None
        if material.kept_answer is not None:
            return _read(material.kept_answer, creating=creating)
        request = self._request(material)
        started = time.monotonic()
        try:
            answer = await self._model.call_tool(request)
        except AppError as error:
            await self._record(material, request, started, outcome="failed", error_class=error.code)
            raise
        kept = StoredAnswer(
            self._model.provider, self._model.model, answer.transport, answer.tool_called, answer.content
        )
        try:
            reading: _Reading | None = _read(kept, creating=creating)
            outcome = "usable"
        except ModelAnswerUnusable:
            reading, outcome = None, "unusable"
        call = self._call(
            request,
            started,
            outcome=outcome,
            transport=answer.transport,
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
        )
        async with self._database.transaction(material.scope) as tx:
            await model_calls.record(
                tx, material.scope, call, session_id=material.archive.session_id, archive_no=material.archive.archive_no
            )
            await model_calls.keep_answer(
                tx,
                material.scope,
                material.archive.session_id,
                material.archive.archive_no,
                STEP,
                job.attempt,
                kept,
                usable=reading is not None,
            )
        if reading is None:
            raise ModelAnswerUnusable("Nothing in the model's answer could be applied to the seven sections.")
        return reading

    def _request(self, material: _Material) -> ToolRequest:
        spoken = tuple(_spoken(message) for message in material.said)
        source = WorkingMemorySource(material.document.bodies if material.document else None, spoken)
        if material.document is None:
            prompt = render_creation(spoken, tool_name=CREATE_TOOL)
            tool = ToolSpec(CREATE_TOOL, "Write the seven sections of a new working memory.", create_parameters())
        else:
            prompt = render_update(
                material.document.bodies,
                spoken,
                tool_name=UPDATE_TOOL,
                sizes=material.document.sections,
                oversized=material.document.oversized_sections,
                deferred=[item.text for item in material.deferred],
            )
            tool = ToolSpec(
                UPDATE_TOOL, "Say for each of the seven sections whether it stays, is replaced or gains items.",
                update_parameters(),
            )  # fmt: skip
        return ToolRequest(STEP, prompt, tool, source, self._deadline_seconds)

    def _call(self, request: ToolRequest, started: float, *, outcome: str, **costs: object) -> ModelCall:
        return ModelCall(
            purpose=request.purpose,
            provider=self._model.provider,
            model=self._model.model,
            outcome=outcome,
            latency_ms=int((time.monotonic() - started) * 1000),
            prompt_digest=request.prompt.digest,
            **costs,  # type: ignore[arg-type]
        )

    async def _record(
        self, material: _Material, request: ToolRequest, started: float, *, outcome: str, error_class: str
    ) -> None:
        call = self._call(request, started, outcome=outcome, error_class=error_class)
        async with self._database.transaction(material.scope) as tx:
            await model_calls.record(
                tx, material.scope, call, session_id=material.archive.session_id, archive_no=material.archive.archive_no
            )

    async def _apply(self, job: Job, material: _Material, reading: _Reading) -> None:
        before = material.document.bodies if material.document else None
        merged = merge(before, reading.ops, count_tokens=self._count_tokens, deferred=material.deferred)
        session_id, archive_no = material.archive.session_id, material.archive.archive_no
        end = StepEnd(
            outcome=_outcome(merged).value,
            base=material.base,
            abstract=abstract(merged.bodies)[:1000],
            source=reading.source,
            provider=reading.provider,
        )
        waiting, known = set(merged.deferred), set(material.deferred)
        async with self._database.transaction(material.scope) as tx:
            if not await jobs.finish_step(tx, material.scope, job, end):
                raise JobLost("The lease of this job has passed to another worker.")
            records = self._records(merged, material.document)
            await working_memory.save(tx, material.scope, session_id, archive_no, records)
            fresh = [item for item in merged.deferred if item not in known]
            admitted = [item for item in material.deferred if item not in waiting]
            await working_memory.admit(tx, material.scope, session_id, archive_no, admitted)
            await working_memory.defer(tx, material.scope, session_id, archive_no, fresh)

    def _records(self, merged: MergeResult, before: StoredDocument | None) -> dict[Section, SectionRecord]:
        records = {}
        for decision in merged.decisions:
            body = merged.bodies[decision.section]
            old = before.sections.get(decision.section) if before else None
            records[decision.section] = SectionRecord(
                section=decision.section,
                body=body,
                tokens=self._count_tokens(body),
                tokens_before=old.tokens if old else 0,
                bullets=count_bullets(body),
                bullets_before=old.bullets if old else 0,
                requested_op=decision.requested,
                applied_op=decision.applied,
                guard=decision.guard or None,
                reason=decision.reason or None,
                changed=decision.changed,
            )
        return records


@dataclass(frozen=True, slots=True)
class _JobTenant:
    account_id: int


def _step_of(job: Job) -> tuple[int, int]:
    if job.session_id is None or job.archive_no is None:
        raise JobLost("This job names no archive.")
    return job.session_id, job.archive_no


async def _uncovered(
    tx: Transaction, scope: Scope, session_id: int, base: BaseDocument, archive: Archive
) -> list[StoredMessage]:
    """Return what the base does not cover, earlier failed archives included, but not ranges left out on purpose."""
    said = await messages.list_range(tx, scope, session_id, base.last_seq + 1, archive.last_seq)
    if archive.first_seq == base.last_seq + 1:
        return said
    left_out = [
        range(other.first_seq, other.last_seq + 1)
        for other in await archives.list_all(tx, scope, session_id)
        if other.working_memory in {StepOutcome.OFF, StepOutcome.DISCARDED}
    ]
    return [message for message in said if not any(message.seq in seqs for seqs in left_out)]


def _read(answer: StoredAnswer, *, creating: bool) -> _Reading:
    """Return the operations in an answer; a created document is an UPDATE of each section.

    Raises: ModelAnswerUnusable.
    """
    provider = answer.provider
    if creating:
        created = read_created(answer.content)
        if created is not None:
            ops: SectionOps = {section: Update(created.bodies[section]) for section in SECTIONS}
            return _Reading(ops, f"create/{created.path}", provider)
    else:
        found = read_answer(answer.content)
        if found.usable:
            return _Reading(found.ops, f"update/{found.path}", provider)
    raise ModelAnswerUnusable("Nothing in the model's answer could be applied to the seven sections.")


def _outcome(merged: MergeResult) -> StepOutcome:
    changed = any(decision.changed for decision in merged.decisions)
    return StepOutcome.APPLIED if changed else StepOutcome.NOTHING_TO_REMEMBER


def _spoken(message: StoredMessage) -> SpokenMessage:
    return SpokenMessage(
        seq=message.seq,
        role=message.role.value,
        speaker=message.peer_id,
        said_at=message.said_at.strftime("%Y-%m-%d %H:%M"),
        text=readable_text(message.parts),
    )
