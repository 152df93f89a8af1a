"""Sessions, their messages, the pairs of tool call and result, and large tool results."""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.storage.tables.metadata import account_id, brin, instant, metadata, reference, surrogate_id


def _counter(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


sessions: Final = sa.Table(
    "sessions",
    metadata,
    account_id(),
    surrogate_id(),
    sa.Column("user_id", sa.BigInteger, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    _counter("last_seq"),
    _counter("last_tokens"),
    _counter("last_user_seq"),
    _counter("sealed_seq"),
    _counter("sealed_tokens"),
    _number("archive_count"),
    _number("keep_recent_count"),
    _counter("pending_tokens"),
    sa.Column("retention_mode", sa.Text, nullable=False, server_default="message_count"),
    sa.Column("keep_recent_turn_count", sa.Integer, nullable=False, server_default="3"),
    sa.Column("retained_message_token_budget", sa.Integer, nullable=False, server_default="12000"),
    sa.Column("min_raw_tail_steps", sa.Integer, nullable=False, server_default="1"),
    sa.Column("anchor_seq", sa.BigInteger),
    sa.Column("memory_policy", JSONB),
    sa.Column("auto_commit_policy", JSONB),
    sa.Column("memory_extraction_config", JSONB),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    instant("last_message_at"),
    instant("last_commit_at"),
    instant("last_auto_commit_at"),
    sa.Column("swept", sa.Boolean, nullable=False, server_default="false"),
    instant("active_hour", nullable=False, server_default=sa.text("date_trunc('hour', now(), 'UTC')")),
    sa.PrimaryKeyConstraint("account_id", "id"),
    reference("users", "user_id", keys=("account_id", "id")),
    sa.Index("sessions_name", "account_id", "user_id", "name", unique=True),
    sa.Index("sessions_active", "account_id", "user_id", "active_hour"),
    sa.Index(
        "sessions_unswept",
        "active_hour",
        postgresql_where=sa.text("auto_commit_policy IS NOT NULL AND NOT swept"),
    ),
)

messages: Final = sa.Table(
    "messages",
    metadata,
    account_id(),
    sa.Column("session_id", sa.BigInteger, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("message_id", sa.Uuid, nullable=False, server_default=sa.text("gen_random_uuid()")),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("opens", sa.Text),
    sa.Column("peer_id", sa.Text),
    sa.Column("origin", sa.Text, nullable=False, server_default="client"),
    sa.Column("parts", JSONB, nullable=False),
    sa.Column("attributes", JSONB),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("tokens_through", sa.BigInteger, nullable=False),
    sa.Column("client_message_id", sa.Text),
    sa.Column("body_sha256", sa.LargeBinary),
    sa.Column("reply_live", sa.BigInteger, nullable=False),
    sa.Column("reply_pending", sa.BigInteger, nullable=False),
    instant("said_at", nullable=False),
    instant("stored_at", nullable=False),
    sa.PrimaryKeyConstraint("account_id", "session_id", "seq"),
    reference("sessions", "session_id", keys=("account_id", "id")),
    sa.Index(
        "messages_client_id",
        "account_id",
        "session_id",
        "client_message_id",
        unique=True,
        postgresql_where=sa.text("client_message_id IS NOT NULL"),
    ),
    brin("messages_stored_at", "stored_at"),
)

tool_calls: Final = sa.Table(
    "tool_calls",
    metadata,
    account_id(),
    sa.Column("session_id", sa.BigInteger, nullable=False),
    sa.Column("call_seq", sa.BigInteger, nullable=False),
    sa.Column("tool_id", sa.Text, nullable=False),
    sa.Column("result_seq", sa.BigInteger),
    sa.PrimaryKeyConstraint("account_id", "session_id", "call_seq", "tool_id"),
    reference("messages", "session_id", "call_seq", keys=("account_id", "session_id", "seq")),
    reference("messages", "session_id", "result_seq", keys=("account_id", "session_id", "seq")),
    sa.Index("tool_calls_result", "account_id", "session_id", "result_seq"),
    sa.Index(
        "tool_calls_unanswered",
        "account_id",
        "session_id",
        "tool_id",
        postgresql_where=sa.text("result_seq IS NULL"),
    ),
)

tool_results: Final = sa.Table(
    "tool_results",
    metadata,
    account_id(),
    sa.Column("session_id", sa.BigInteger, nullable=False),
    sa.Column("tool_result_id", sa.Text, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("tool_id", sa.Text),
    sa.Column("tool_name", sa.Text),
    sa.Column("direction", sa.Text, nullable=False, server_default="output"),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("content_sha256", sa.LargeBinary, nullable=False),
    sa.Column("mime_type", sa.Text, nullable=False, server_default="text/plain"),
    sa.Column("kind", sa.Text, nullable=False, server_default="text"),
    sa.Column("synopsis", sa.Text, nullable=False, server_default=""),
    sa.Column("chars", sa.Integer, nullable=False),
    sa.Column("preview_chars", sa.Integer, nullable=False),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    sa.PrimaryKeyConstraint("account_id", "session_id", "tool_result_id"),
    reference("messages", "session_id", "seq", keys=("account_id", "session_id", "seq")),
    sa.Index("tool_results_seq", "account_id", "session_id", "seq"),
    sa.Index("tool_results_content", "account_id", "session_id", "content_sha256"),
)
