"""Accounts, users and keys."""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from app.storage.tables.metadata import SCHEMA, account_id, instant, metadata, reference, surrogate_id

accounts: Final = sa.Table(
    "accounts",
    metadata,
    surrogate_id(primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    sa.Index("accounts_name", "name", unique=True),
)

users: Final = sa.Table(
    "users",
    metadata,
    account_id(),
    surrogate_id(),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False, server_default="user"),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    sa.PrimaryKeyConstraint("account_id", "id"),
    sa.ForeignKeyConstraint(["account_id"], [f"{SCHEMA}.accounts.id"], ondelete="CASCADE"),
    sa.Index("users_name", "account_id", "name", unique=True),
)

api_keys: Final = sa.Table(
    "api_keys",
    metadata,
    account_id(),
    surrogate_id(),
    sa.Column("user_id", sa.BigInteger, nullable=False),
    sa.Column("prefix", sa.Text, nullable=False),
    sa.Column("key_sha256", sa.LargeBinary, nullable=False),
    sa.Column("label", sa.Text, nullable=False, server_default=""),
    sa.Column("scopes", ARRAY(sa.Text), nullable=False, server_default="{read,write}"),
    instant("created_at", nullable=False, server_default=sa.text("now()")),
    instant("last_used_at"),
    instant("expires_at"),
    instant("revoked_at"),
    sa.PrimaryKeyConstraint("account_id", "id"),
    reference("users", "user_id", keys=("account_id", "id")),
    sa.Index("api_keys_sha256", "key_sha256", unique=True),
    sa.Index("api_keys_user", "account_id", "user_id"),
)
