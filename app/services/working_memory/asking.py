"""Asking the model for one update: the question, the answer as it came, and what it cost."""

import time
from dataclasses import dataclass
from typing import Final

from app.domain.errors import AppError, ModelAnswerUnusable
from app.domain.jobs import Job
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.operations import SectionOps, Update
from app.domain.working_memory.schema import CREATE_TOOL, UPDATE_TOOL, create_parameters, update_parameters
from app.domain.working_memory.sections import SECTIONS
from app.prompts.working_memory import render_creation, render_update
from app.providers.ports import ChatModel, ModelAnswer, ModelUsage, ToolRequest, ToolSpec, WorkingMemorySource
from app.providers.schema_check import schema_fault
from app.services.working_memory.material import Material
from app.storage import model_calls
from app.storage.model_calls import ModelCall, StoredAnswer
from app.storage.transaction import Database

STEP: Final = "working_memory"
_CREATE: Final = ToolSpec(CREATE_TOOL, "Write the seven sections of a new working memory.", create_parameters())
_UPDATE: Final = ToolSpec(
    UPDATE_TOOL,
    "Say for each of the seven sections whether it stays, is replaced or gains items.",
    update_parameters(),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's answer as operations; source names the path by which it could be read, provider who gave it."""

    ops: SectionOps
    source: str
    provider: str


class Asking:
    """Ask a model, and keep what it said and what it cost before anything is made of it."""

    def __init__(self, database: Database, model: ChatModel, *, deadline_seconds: float) -> None:
        self._database = database
        self._model = model
        self._deadline_seconds = deadline_seconds

    async def ask(self, job: Job, material: Material) -> Reading:
        """Return what is to be done: from an answer kept earlier, else by asking.

        Raises: ModelUnavailable, ModelRefused, ModelAnswerUnusable.
        """
        if material.kept_answer is not None:
            return read(material.kept_answer, creating=material.document is None)
        request = self._request(material)
        started = time.monotonic()
        try:
            answer = await self._model.call_tool(request)
        except AppError as error:
            await self._keep(job, material, self._call(request, started, outcome="failed", error_class=error.code))
            raise
        return await self._take(job, material, request, started, answer)

    async def _take(
        self, job: Job, material: Material, request: ToolRequest, started: float, answer: ModelAnswer
    ) -> Reading:
        kept = StoredAnswer(
            self._model.provider, self._model.model, answer.transport, answer.tool_called, answer.content
        )
        try:
            reading = read(kept, creating=material.document is None)
        except ModelAnswerUnusable:
            call = self._call(request, started, outcome="unusable", transport=answer.transport, usage=answer.usage)
            await self._keep(job, material, call, kept, usable=False)
            raise
        fault = schema_fault(answer.content, request.tool.parameters)
        outcome = "usable" if fault is None else "recovered"
        call = self._call(request, started, outcome=outcome, transport=answer.transport, usage=answer.usage)
        await self._keep(job, material, call, kept, usable=True)
        return reading

    def _request(self, material: Material) -> ToolRequest:
        spoken = material.spoken
        if material.document is None:
            prompt = render_creation(spoken, tool_name=CREATE_TOOL)
            return ToolRequest(STEP, prompt, _CREATE, WorkingMemorySource(None, spoken), self._deadline_seconds)
        document = material.document
        prompt = render_update(
            document.bodies,
            spoken,
            tool_name=UPDATE_TOOL,
            sizes=document.sections,
            oversized=document.oversized_sections,
            deferred=[item.text for item in material.deferred],
        )
        source = WorkingMemorySource(document.bodies, spoken)
        return ToolRequest(STEP, prompt, _UPDATE, source, self._deadline_seconds)

    def _call(
        self,
        request: ToolRequest,
        started: float,
        *,
        outcome: str,
        transport: str | None = None,
        usage: ModelUsage | None = None,
        error_class: str | None = None,
    ) -> ModelCall:
        spent = usage or ModelUsage()
        return ModelCall(
            purpose=request.purpose,
            provider=self._model.provider,
            model=self._model.model,
            outcome=outcome,
            latency_ms=int((time.monotonic() - started) * 1000),
            transport=transport,
            prompt_digest=request.prompt.digest,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            error_class=error_class,
        )

    async def _keep(
        self, job: Job, material: Material, call: ModelCall, answer: StoredAnswer | None = None, *, usable: bool = False
    ) -> None:
        session_id, archive_no = material.archive.session_id, material.archive.archive_no
        async with self._database.transaction(material.scope) as tx:
            await model_calls.record(tx, material.scope, call, session_id=session_id, archive_no=archive_no)
            if answer is not None:
                await model_calls.keep_answer(
                    tx, material.scope, session_id, archive_no, STEP, job.attempt, answer, usable=usable
                )


def read(answer: StoredAnswer, *, creating: bool) -> Reading:
    """Return the operations in an answer; a created document is an UPDATE of each section.

    Raises: ModelAnswerUnusable.
    """
    if creating:
        created = read_created(answer.content)
        if created is not None:
            ops: SectionOps = {section: Update(created.bodies[section]) for section in SECTIONS}
            return Reading(ops, f"create/{created.path}", answer.provider)
    else:
        found = read_answer(answer.content)
        if found.usable:
            return Reading(found.ops, f"update/{found.path}", answer.provider)
    raise ModelAnswerUnusable("Nothing in the model's answer could be applied to the seven sections.")
