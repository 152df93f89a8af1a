"""Failures of model services, counted for all processes together."""

from datetime import timedelta

from app.providers.breaker import FAILURES_ALLOWED, FIRST_PAUSE, LONGEST_PAUSE
from app.storage import model_breakers
from app.storage.transaction import Database


class StoredBreakers:
    """A BreakerStore in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pause_seconds(self, service: str, model: str) -> float:
        """Return how long to leave a service alone; 0.0 also for the one who may try when a pause is over."""
        async with self._database.transaction(None) as tx:
            left = await model_breakers.pause(tx, service, model)
            if left is None:
                return 0.0
            if left > timedelta(0):
                return left.total_seconds()
            first = await model_breakers.claim_trial(tx, service, model, next_pause=FIRST_PAUSE)
        return 0.0 if first else FIRST_PAUSE.total_seconds()

    async def note_failure(self, service: str, model: str) -> None:
        """Count a failure. Raises Unavailable."""
        async with self._database.transaction(None) as tx:
            await model_breakers.note_failure(
                tx, service, model, allowed=FAILURES_ALLOWED, first_pause=FIRST_PAUSE, longest_pause=LONGEST_PAUSE
            )

    async def note_success(self, service: str, model: str) -> None:
        """Forget the failures. Raises Unavailable."""
        async with self._database.transaction(None) as tx:
            await model_breakers.note_success(tx, service, model)
