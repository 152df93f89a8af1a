"""Asking the model about one piece: its answer as it came, its cost, and once more where it is unreadable."""

import time
from dataclasses import dataclass

from app.domain.errors import AppError, JobLost, ModelAnswerUnusable, ModelPaused
from app.domain.excerpts import additions_only
from app.domain.jobs import Job
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.operations import SectionOps, Update
from app.domain.working_memory.schema import CREATE_TOOL
from app.domain.working_memory.sections import SECTIONS
from app.providers.ports import ChatModel, ModelAnswer, ModelUsage, ToolRequest
from app.providers.schema_check import schema_fault
from app.services.working_memory.material import Material
from app.services.working_memory.questions import STEP, Question, Questions
from app.storage import model_calls
from app.storage.model_calls import ModelCall, StoredAnswer
from app.storage.transaction import Database


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's answer as operations on the sections, about messages up to last_seq.

    source names the path by which it could be read, provider who gave it; shortened are messages it saw in part.
    """

    ops: SectionOps
    last_seq: int
    shortened: tuple[int, ...]
    source: str
    provider: str


class Asking:
    """Ask a model, and keep what it said and what it cost before anything is made of it."""

    def __init__(self, database: Database, model: ChatModel, questions: Questions) -> None:
        self._database = database
        self._model = model
        self._questions = questions

    async def ask(self, job: Job, material: Material, question: Question) -> Reading:
        """Return what is to be done about a piece.

        An update that cannot be read is asked once more, as a creation with the old document in it.

        Raises: ModelUnavailable, ModelRefused, ModelAnswerUnusable, JobLost when the session is gone.
        """
        reading = await self._ask(job, material, question, self._questions.request(question))
        if reading is None and question.shown is not None:
            reading = await self._ask(job, material, question, self._questions.second_request(question))
        if reading is None:
            raise ModelAnswerUnusable("Nothing in the model's answer could be applied to the seven sections.")
        return reading

    async def _ask(self, job: Job, material: Material, question: Question, request: ToolRequest) -> Reading | None:
        started = time.monotonic()
        try:
            answer = await self._model.call_tool(request)
        except ModelPaused:
            raise  # nobody was asked
        except AppError as error:
            await self._keep(job, material, self._call(request, started, outcome="failed", error_class=error.code))
            raise
        kept = self._kept(request, question, answer)
        reading = read(kept)
        outcome = "unusable"
        if reading is not None:
            outcome = "usable" if schema_fault(answer.content, request.tool.parameters) is None else "recovered"
        call = self._call(request, started, outcome=outcome, transport=answer.transport, usage=answer.usage)
        await self._keep(job, material, call, kept, usable=reading is not None)
        return reading

    def _kept(self, request: ToolRequest, question: Question, answer: ModelAnswer) -> StoredAnswer:
        return StoredAnswer(
            first_seq=question.piece.first_seq,
            last_seq=question.piece.last_seq,
            shortened=question.piece.shortened,
            sections_in_part=question.sections_in_part,
            provider=self._model.provider,
            model=self._model.model,
            transport=answer.transport,
            tool=request.tool.name,
            tool_called=answer.tool_called,
            content=answer.content,
        )

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
        kept = True
        async with self._database.transaction(material.scope) as tx:
            await model_calls.record(tx, material.scope, call, session_id=session_id, archive_no=archive_no)
            if answer is not None:
                kept = await model_calls.keep_answer(
                    tx, material.scope, session_id, archive_no, STEP, job.attempt, answer, usable=usable
                )
        if not kept:
            raise JobLost("The session was deleted while the model was asked.")


def read(answer: StoredAnswer) -> Reading | None:
    """Return the operations in an answer, None for none.

    A created document is an UPDATE of each section; where the model saw a section in part it only adds.
    """
    if answer.tool == CREATE_TOOL:
        created = read_created(answer.content)
        if created is None:
            return None
        ops: SectionOps = {section: Update(created.bodies[section]) for section in SECTIONS}
        source = f"create/{created.path}"
    else:
        found = read_answer(answer.content)
        if not found.usable:
            return None
        ops, source = found.ops, f"update/{found.path}"
    in_part = [SECTIONS[number - 1] for number in answer.sections_in_part]
    ops = additions_only(ops, in_part)
    return Reading(ops, answer.last_seq, tuple(answer.shortened), source, answer.provider)
