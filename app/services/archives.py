"""Use cases of archives: what was closed, and what came of it."""

from dataclasses import dataclass

from app.domain.archives import Archive, parse_archive_id
from app.domain.errors import archive_not_found, session_not_found
from app.domain.jobs import StepReport
from app.domain.messages import StoredMessage
from app.domain.scope import Scope
from app.storage import archives, messages, sessions, tasks, working_memory
from app.storage.transaction import Database


@dataclass(frozen=True, slots=True)
class ArchiveView:
    """An archive with its messages, the jobs of its steps, and the document after it ('' until there is one)."""

    archive: Archive
    jobs: tuple[StepReport, ...]
    overview: str
    messages: tuple[StoredMessage, ...]


class Archives:
    """Read archives, whatever their state."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_all(self, scope: Scope, session_name: str) -> list[Archive]:
        """Return the archives of a session, the oldest first. Raises NotFound."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            session = await sessions.get(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            return await archives.list_all(tx, scope, session.id)

    async def list_with_jobs(self, scope: Scope, session_name: str) -> list[tuple[Archive, tuple[StepReport, ...]]]:
        """Return the archives of a session, the oldest first, each with the jobs of its steps. Raises NotFound."""
        async with self._database.transaction(scope, snapshot=True) as tx:
            session = await sessions.get(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            every = await archives.list_all(tx, scope, session.id)
            jobs = await tasks.steps_of(tx, scope, every)
            return [(archive, jobs.get(archive.archive_no, ())) for archive in every]

    async def get(self, scope: Scope, session_name: str, archive_id: str) -> ArchiveView:
        """Return one archive by its id, such as archive_001. Raises NotFound."""
        archive_no = parse_archive_id(archive_id)
        async with self._database.transaction(scope, snapshot=True) as tx:
            session = await sessions.get(tx, scope, session_name)
            if session is None:
                raise session_not_found(session_name)
            archive = await archives.get(tx, scope, session.id, archive_no) if archive_no else None
            if archive_no is None or archive is None:
                raise archive_not_found(archive_id)
            document = await working_memory.get_after(tx, scope, archive)
            overview = document.text if document else ""
            said = await messages.list_range(tx, scope, session.id, archive.first_seq, archive.last_seq)
            jobs = await tasks.steps_of(tx, scope, [archive])
            return ArchiveView(archive, jobs.get(archive_no, ()), overview, tuple(said))
