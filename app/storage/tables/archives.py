"""Archives and the sections of their documents.

Generated columns are declared Computed without their text here: the migration states it, and SQLAlchemy only needs to
know that they cannot be written.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.storage.tables.metadata import account_id, brin, instant, metadata, reference, surrogate_id


def _computed(name: str, kind: Any, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, sa.FetchedValue(), nullable=nullable)


archives: Final = sa.Table(
    "archives",
    metadata,
    account_id(),
    sa.Column("session_id", sa.BigInteger, nullable=False),
    sa.Column("archive_no", sa.Integer, nullable=False),
    sa.Column("task_id", sa.Uuid, nullable=False, server_default=sa.text("gen_random_uuid()")),
    sa.Column("first_seq", sa.BigInteger, nullable=False),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("trigger", sa.Text, nullable=False),
    sa.Column("working_memory", sa.Text, nullable=False, server_default="open"),
    sa.Column("long_term_memory", sa.Text, nullable=False, server_default="off"),
    sa.Column("embedding", sa.Text, nullable=False, server_default="skipped"),
    sa.Column("abstract", sa.Text, nullable=False, server_default=""),
    sa.Column("extraction_metadata", JSONB),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    instant("started_at"),
    instant("finished_at"),
    _computed("day", sa.Date),
    sa.Column("base_archive_no", sa.Integer, nullable=False, server_default="0"),
    sa.Column("covers_from_seq", sa.BigInteger),
    sa.Column("document_revision", sa.Integer, nullable=False, server_default="0"),
    sa.Column("document_source", sa.Text),
    sa.Column("document_provider", sa.Text),
    sa.Column("legacy_overview", sa.Text),
    _computed("has_document", sa.Boolean),
    _computed("status", sa.Text),
    _computed("outcome", sa.Text, nullable=True),
    _computed("prev_archive_no", sa.Integer, nullable=True),
    _computed("prev_last_seq", sa.BigInteger, nullable=True),
    _computed("base_ref", sa.Integer, nullable=True),
    _computed("base_last_seq", sa.BigInteger, nullable=True),
    sa.PrimaryKeyConstraint("account_id", "session_id", "archive_no"),
    sa.UniqueConstraint("account_id", "session_id", "archive_no", "last_seq", name="archives_chain"),
    reference("sessions", "session_id", keys=("account_id", "id")),
    reference("messages", "session_id", "last_seq", keys=("account_id", "session_id", "seq"), on_delete=None),
    reference(
        "archives",
        "session_id",
        "prev_archive_no",
        "prev_last_seq",
        keys=("account_id", "session_id", "archive_no", "last_seq"),
        on_delete=None,
    ),
    reference(
        "archives",
        "session_id",
        "base_ref",
        "base_last_seq",
        keys=("account_id", "session_id", "archive_no", "last_seq"),
        on_delete=None,
    ),
    sa.Index("archives_task", "account_id", "task_id", unique=True),
    sa.Index("archives_range", "account_id", "session_id", "last_seq", unique=True),
    sa.Index(
        "archives_document",
        "account_id",
        "session_id",
        "archive_no",
        unique=True,
        postgresql_where=sa.text("has_document"),
    ),
    sa.Index(
        "archives_one_successor",
        "account_id",
        "session_id",
        "base_archive_no",
        unique=True,
        postgresql_where=sa.text("has_document"),
    ),
    sa.Index("archives_recent", "account_id", "created_at"),
    brin("archives_day", "day"),
    sa.Index(
        "archives_unfinished",
        "account_id",
        "session_id",
        "archive_no",
        postgresql_where=sa.text("status IN ('pending', 'running', 'failed')"),
    ),
)

working_memory_sections: Final = sa.Table(
    "working_memory_sections",
    metadata,
    account_id(),
    sa.Column("session_id", sa.BigInteger, nullable=False),
    sa.Column("archive_no", sa.Integer, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
    sa.Column("section", sa.SmallInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("tokens_before", sa.Integer, nullable=False, server_default="0"),
    sa.Column("bullets", sa.Integer, nullable=False),
    sa.Column("bullets_before", sa.Integer, nullable=False, server_default="0"),
    sa.Column("requested_op", sa.Text, nullable=False),
    sa.Column("applied_op", sa.Text, nullable=False),
    sa.Column("guard", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("changed", sa.Boolean, nullable=False),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    _computed("day", sa.Date),
    sa.PrimaryKeyConstraint("account_id", "session_id", "archive_no", "revision", "section"),
    reference("archives", "session_id", "archive_no", keys=("account_id", "session_id", "archive_no")),
    brin("working_memory_sections_day", "day"),
)

working_memory_deferred: Final = sa.Table(
    "working_memory_deferred",
    metadata,
    account_id(),
    sa.Column("session_id", sa.BigInteger, nullable=False),
    surrogate_id(),
    sa.Column("section", sa.SmallInteger, nullable=False),
    sa.Column("item", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("archive_no", sa.Integer, nullable=False),
    sa.Column("admitted_in", sa.Integer),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    sa.PrimaryKeyConstraint("account_id", "session_id", "id"),
    reference("archives", "session_id", "archive_no", keys=("account_id", "session_id", "archive_no")),
    reference("archives", "session_id", "admitted_in", keys=("account_id", "session_id", "archive_no")),
    sa.Index(
        "working_memory_deferred_waiting",
        "account_id",
        "session_id",
        "section",
        sa.text("md5(item)"),
        unique=True,
        postgresql_where=sa.text("admitted_in IS NULL"),
    ),
    sa.Index("working_memory_deferred_archive", "account_id", "session_id", "archive_no"),
    sa.Index("working_memory_deferred_admitted", "account_id", "session_id", "admitted_in"),
)
