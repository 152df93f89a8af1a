"""What model services take, learnt once for all processes."""

from dataclasses import asdict
from datetime import timedelta
from typing import Final

from app.providers.capabilities import Capability, Transport
from app.storage import model_capabilities
from app.storage.transaction import Database

REMEMBERED: Final = timedelta(days=7)
"""Services are updated: after a week a model is asked in the most reliable way again."""


class StoredCapabilities:
    """A CapabilityStore in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recall(self, service: str, model: str) -> Capability | None:
        """Return what was learnt within the last week. Raises Unavailable."""
        async with self._database.transaction(None, snapshot=True) as tx:
            found = await model_capabilities.get(tx, service, model, newer_than=REMEMBERED)
        return Capability(**{**found, "transport": Transport(found["transport"])}) if found else None

    async def remember(self, service: str, model: str, capability: Capability) -> None:
        """Keep what was learnt; the last word counts. Raises Unavailable."""
        async with self._database.transaction(None) as tx:
            await model_capabilities.save(tx, service, model, asdict(capability))
