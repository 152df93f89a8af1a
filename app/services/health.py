"""Use case: is everything there that this server needs?"""

from dataclasses import dataclass

from app.domain.errors import Unavailable
from app.storage import health
from app.storage.transaction import Database


@dataclass(frozen=True, slots=True)
class Readiness:
    """ok says whether to send traffic; checks names each part with 'ok' or what is at fault."""

    ok: bool
    checks: dict[str, str]


class Health:
    """Answer truthfully, and never by asking a model."""

    def __init__(self, database: Database, *, head: str) -> None:
        self._database = database
        self._head = head

    async def ready(self) -> Readiness:
        """Return whether the database answers and stands at the revision this release needs."""
        try:
            async with self._database.transaction(None) as tx:
                revision = await health.revision(tx)
        except Unavailable as error:
            return Readiness(False, {"database": error.message, "migrations": "unknown"})
        at_head = revision == self._head
        migrations = "ok" if at_head else f"at {revision or 'nothing'}, needs {self._head}: run `cairn migrate`"
        return Readiness(at_head, {"database": "ok", "migrations": migrations})
