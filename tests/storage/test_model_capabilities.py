"""What one process learnt about a model service, the others know."""

from datetime import timedelta

import psycopg

from app.storage import model_capabilities
from app.storage.transaction import Database

WEEK = timedelta(days=7)
LEARNT = {"transport": "json_mode", "one_of": False, "system_role": True, "misses": 1}


async def test_the_last_word_about_a_model_counts(database: Database) -> None:
    async with database.transaction(None) as tx:
        assert await model_capabilities.get(tx, "http://here/v1/", "harbour-1", newer_than=WEEK) is None
        await model_capabilities.save(tx, "http://here/v1/", "harbour-1", LEARNT)
        await model_capabilities.save(tx, "http://here/v1/", "harbour-1", {**LEARNT, "transport": "plain"})
        await model_capabilities.save(tx, "http://here/v1/", "harbour-2", LEARNT)
    async with database.transaction(None, snapshot=True) as tx:
        found = await model_capabilities.get(tx, "http://here/v1/", "harbour-1", newer_than=WEEK)
        assert found == {**LEARNT, "transport": "plain"}
        assert await model_capabilities.get(tx, "http://there/v1/", "harbour-1", newer_than=WEEK) is None


async def test_what_was_learnt_long_ago_is_forgotten(database: Database, superuser: psycopg.Connection) -> None:
    async with database.transaction(None) as tx:
        await model_capabilities.save(tx, "http://here/v1/", "harbour-1", LEARNT)
    superuser.execute("UPDATE cairn.model_capabilities SET updated_at = now() - interval '8 days'")
    async with database.transaction(None) as tx:
        assert await model_capabilities.get(tx, "http://here/v1/", "harbour-1", newer_than=WEEK) is None
        await model_capabilities.save(tx, "http://here/v1/", "harbour-1", LEARNT)
        assert await model_capabilities.get(tx, "http://here/v1/", "harbour-1", newer_than=WEEK) == LEARNT
