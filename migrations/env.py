"""How migrations run: one transaction each, under an advisory lock, with short lock waits, as cairn_owner."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from alembic import context
from alembic.operations import MigrateOperation, Operations

from app.settings import Settings
from app.storage.tables import metadata

HERE = Path(__file__).parent
MIGRATION_LOCK = 7_294_113_551  # any number; the same in every process that migrates
SESSION = """
    SET lock_timeout = '4s';
    SET statement_timeout = '10s';
    SET idle_in_transaction_session_timeout = '60s';
"""


@Operations.register_operation("run_sql_file")
class RunSqlFile(MigrateOperation):
    """op.run_sql_file("functions/append_messages.v01.sql"): run a file that lies beside env.py."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def run_sql_file(cls, operations: Operations, name: str) -> None:
        operations.invoke(cls(name))


@Operations.implementation_for(RunSqlFile)
def _run_sql_file(operations: Operations, operation: RunSqlFile) -> None:
    operations.get_bind().exec_driver_sql((HERE / operation.name).read_text(encoding="utf-8").replace("%", "%%"))


def _mine(name: str | None, kind: str, _parents: object) -> bool:
    """Compare the schema we own; vectors and other people's tables are not this chain's business."""
    return name == "cairn" if kind == "schema" else True


@contextmanager
def _connection() -> Iterator[sa.Connection]:
    given = context.config.attributes.get("connection")
    if given is not None:
        yield given
        return
    settings = Settings()
    url = settings.database_owner_url or settings.database_url
    if url is None:
        raise SystemExit("Set CAIRN_DATABASE_OWNER_URL, or use `cairn migrate` for the embedded server.")
    address = sa.make_url(url.get_secret_value()).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


def run() -> None:
    with _connection() as connection:
        connection.exec_driver_sql(SESSION)
        connection.exec_driver_sql("SET ROLE cairn_owner")
        connection.exec_driver_sql(f"SELECT pg_advisory_lock({MIGRATION_LOCK})")
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS cairn")
        connection.commit()
        try:
            context.configure(
                connection=connection,
                target_metadata=metadata,
                version_table_schema="cairn",
                include_schemas=True,
                include_name=_mine,
                transaction_per_migration=True,
                compare_type=True,
            )
            with context.begin_transaction():
                context.run_migrations()
        finally:
            connection.rollback()
            connection.exec_driver_sql(f"SELECT pg_advisory_unlock({MIGRATION_LOCK})")
            connection.exec_driver_sql("RESET ROLE")
            connection.commit()


run()
