"""Remember what model services refused and how often they failed, and which sections a model saw in part.

Phase: expand (the previous release runs unchanged)

model_capabilities and model_breakers belong to the installation and to no tenant: their rows name a service and a
model, never anybody's text. So the policy of the application lets it read and write all of them. Distributed, they are
reference tables.
"""

from alembic import op

revision = "20261130_1900"
down_revision = "20261130_1840"
branch_labels = None
depends_on = None


TABLES = ("model_capabilities", "model_breakers")


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

        CREATE TABLE cairn.model_breakers (
          service    text NOT NULL CHECK (length(service) <= 2000),
          model      text NOT NULL CHECK (length(model) <= 500),
          failures   integer NOT NULL CHECK (failures >= 0),   -- in a row, of all processes
          open_until timestamptz,                              -- nobody calls before; NULL = calls go out
          PRIMARY KEY (service, model)
        );
    """)
    for table in TABLES:
        op.execute(f"""
            ALTER TABLE cairn.{table} ENABLE ROW LEVEL SECURITY;
            ALTER TABLE cairn.{table} FORCE ROW LEVEL SECURITY;
            CREATE POLICY shared ON cairn.{table} TO cairn_app, cairn_system USING (true) WITH CHECK (true);
            GRANT SELECT, INSERT, UPDATE ON cairn.{table} TO cairn_app;
            GRANT SELECT ON cairn.{table} TO cairn_system;
        """)


def downgrade() -> None:
    op.execute("""
        DROP TABLE cairn.model_breakers, cairn.model_capabilities;
        ALTER TABLE cairn.model_answers DROP COLUMN sections_in_part;
    """)
