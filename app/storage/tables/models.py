"""What the installation knows about model services; no tenant's data."""

from typing import Final

import sqlalchemy as sa

from app.storage.tables.metadata import instant, metadata

model_capabilities: Final = sa.Table(
    "model_capabilities",
    metadata,
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("transport", sa.Text, nullable=False),
    sa.Column("one_of", sa.Boolean, nullable=False),
    sa.Column("system_role", sa.Boolean, nullable=False),
    sa.Column("misses", sa.Integer, nullable=False),
    instant("updated_at", nullable=False, server_default=sa.text("now()")),
    sa.PrimaryKeyConstraint("service", "model"),
)

model_breakers: Final = sa.Table(
    "model_breakers",
    metadata,
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    instant("open_until"),
    sa.PrimaryKeyConstraint("service", "model"),
)
