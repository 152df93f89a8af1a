"""The schema every table stands in, and the column shapes they share."""

from typing import Any, Final

import sqlalchemy as sa

SCHEMA: Final = "cairn"
metadata: Final = sa.MetaData(schema=SCHEMA)


def account_id(**options: Any) -> sa.Column[int]:
    return sa.Column("account_id", sa.BigInteger, nullable=False, **options)


def surrogate_id(**options: Any) -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger, sa.Identity(always=False), nullable=False, **options)


def instant(name: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), **options)


def reference(table: str, *columns: str, keys: tuple[str, ...], on_delete: str | None = "CASCADE") -> Any:
    """Return a foreign key that carries the tenant first."""
    return sa.ForeignKeyConstraint(
        ["account_id", *columns], [f"{SCHEMA}.{table}.{key}" for key in keys], ondelete=on_delete
    )


def brin(name: str, column: str) -> sa.Index:
    return sa.Index(name, column, postgresql_using="brin", postgresql_with={"pages_per_range": 32})
