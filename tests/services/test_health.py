import psycopg

from app.bootstrap import Services
from app.storage.migrations import head


async def test_a_server_is_ready_when_its_database_stands_at_its_revision(
    services: Services, superuser: psycopg.Connection
) -> None:
    readiness = await services.health.ready()
    assert (readiness.ok, readiness.checks["database"], readiness.checks["migrations"]) == (True, "ok", "ok")
    superuser.execute("UPDATE cairn.alembic_version SET version_num = 'older'")
    try:
        behind = await services.health.ready()
    finally:
        superuser.execute("UPDATE cairn.alembic_version SET version_num = %s", [head()])
    assert behind.ok is False
    assert "cairn migrate" in behind.checks["migrations"]
