"""Remember what model services refused, and which sections a model saw in part.

Phase: expand (the previous release runs unchanged)

model_capabilities belongs to the installation and to no tenant: its rows name a service and a model, never anybody's
text. So the policy of the application lets it read and write all of them. Distributed, it is a reference table.
"""

from alembic import op

revision = "20261130_1900"
down_revision = "20261130_1840"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE cairn.model_answers ADD COLUMN sections_in_part smallint[] NOT NULL DEFAULT '{}';

        CREATE TABLE cairn.model_capabilities (
          service     text NOT NULL CHECK (length(service) <= 2000),   -- address without user, password and query
          model       text NOT NULL CHECK (length(model) <= 500),
          transport   text NOT NULL,
          one_of      boolean NOT NULL,
          system_role boolean NOT NULL,
          misses      integer NOT NULL CHECK (misses >= 0),   -- tools offered in a row and not called
          updated_at  timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (service, model)
        );
        ALTER TABLE cairn.model_capabilities ENABLE ROW LEVEL SECURITY;
        ALTER TABLE cairn.model_capabilities FORCE ROW LEVEL SECURITY;
        CREATE POLICY shared ON cairn.model_capabilities TO cairn_app, cairn_system USING (true) WITH CHECK (true);
        GRANT SELECT, INSERT, UPDATE ON cairn.model_capabilities TO cairn_app;
        GRANT SELECT ON cairn.model_capabilities TO cairn_system;
    """)


def downgrade() -> None:
    op.execute("""
        DROP TABLE cairn.model_capabilities;
        ALTER TABLE cairn.model_answers DROP COLUMN sections_in_part;
    """)
