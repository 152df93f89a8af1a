"""Everything one update is made from, read in one transaction."""

from dataclasses import dataclass

from app.domain.archives import Archive, StepOutcome
from app.domain.documents import BaseDocument, StoredDocument
from app.domain.errors import JobLost
from app.domain.jobs import Job, JobTenant
from app.domain.messages import StoredMessage, readable_text
from app.domain.prompts import SpokenMessage
from app.domain.scope import Scope
from app.domain.working_memory.deferral import DeferredItem
from app.storage import archives, jobs, messages, model_calls, working_memory
from app.storage.model_calls import StoredAnswer
from app.storage.transaction import Database, Transaction


@dataclass(frozen=True, slots=True)
class Material:
    """What an update of one archive builds on: the base document, what it does not cover, and what waits.

    earlier_overview is an imported text without sections, '' where there is none: the document is then None.
    kept_answers are the usable ones of earlier attempts, the newest first: what they are about is not asked again.
    """

    scope: Scope
    archive: Archive
    base: BaseDocument
    document: StoredDocument | None
    earlier_overview: str
    said: tuple[StoredMessage, ...]
    deferred: tuple[DeferredItem, ...]
    kept_answers: tuple[StoredAnswer, ...]

    @property
    def spoken(self) -> tuple[SpokenMessage, ...]:
        """Return the messages as a model reads them."""
        return tuple(_spoken(message) for message in self.said)


async def read_material(database: Database, job: Job, step: str) -> Material:
    """Return what a step needs, and note that its archive has begun. Raises JobLost when the step is no longer open."""
    if job.session_id is None or job.archive_no is None:
        raise JobLost("This job names no archive.")
    async with database.transaction(JobTenant(job.account_id)) as tx:
        scope = await jobs.scope_of(tx, job)
        archive = await archives.get(tx, scope, job.session_id, job.archive_no) if scope else None
        if scope is None or archive is None or archive.working_memory is not StepOutcome.OPEN:
            raise JobLost("The session is gone, or the step has ended already.")
        await jobs.start_archive(tx, scope, job.session_id, job.archive_no)
        base = await working_memory.base_document(tx, scope, job.session_id, before=job.archive_no)
        document = await working_memory.get(tx, scope, job.session_id, base)
        return Material(
            scope=scope,
            archive=archive,
            base=base,
            document=document if document is not None and document.legacy is None else None,
            earlier_overview=(document.legacy or "") if document is not None else "",
            said=tuple(await _uncovered(tx, scope, base, archive)),
            deferred=tuple(await working_memory.waiting_items(tx, scope, job.session_id)),
            kept_answers=tuple(await model_calls.usable_answers(tx, scope, job.session_id, job.archive_no, step)),
        )


async def _uncovered(tx: Transaction, scope: Scope, base: BaseDocument, archive: Archive) -> list[StoredMessage]:
    """Return what the base does not cover, earlier failed archives included, but not ranges left out on purpose."""
    said = await messages.list_range(tx, scope, archive.session_id, base.last_seq + 1, archive.last_seq)
    if archive.first_seq == base.last_seq + 1:
        return said
    left_out = [
        range(other.first_seq, other.last_seq + 1)
        for other in await archives.list_all(tx, scope, archive.session_id)
        if other.working_memory in {StepOutcome.OFF, StepOutcome.DISCARDED}
    ]
    return [message for message in said if not any(message.seq in seqs for seqs in left_out)]


def _spoken(message: StoredMessage) -> SpokenMessage:
    return SpokenMessage(
        seq=message.seq,
        role=message.role.value,
        speaker=message.peer_id,
        said_at=message.said_at.strftime("%Y-%m-%d %H:%M"),
        text=readable_text(message.parts),
    )
