"""Put every table under forced row-level security and grant each role what its work needs, and no more.

Phase: expand (the previous release runs unchanged)

Row-level security is the second lock, for a forgotten filter; it is no defence against injected SQL, which could set
the setting: that is what bound parameters are for. Forced: the owner obeys too. No policy for a role: no rows for it.
No policy holds a subquery, and bigint equality is leakproof, so every key stays usable as an index.
"""

from alembic import op

revision = "20261130_1840"
down_revision = "20261130_1830"
branch_labels = None
depends_on = None

TENANT_TABLES = (
    "users", "api_keys", "sessions", "messages", "tool_calls", "tool_results", "archives", "working_memory_sections",
    "working_memory_deferred", "jobs", "model_calls", "model_answers", "idempotency_keys",
)  # fmt: skip
DEFINERS = (
    "claim_jobs", "heartbeat_jobs", "reap_jobs", "find_identity", "find_key", "create_account", "list_accounts",
    "find_account", "count_jobs", "orphaned_steps", "forget_old_rows", "idle_sessions",
)  # fmt: skip


def upgrade() -> None:
    for table in ("accounts", *TENANT_TABLES):
        key = "id" if table == "accounts" else "account_id"
        op.execute(f"""
            ALTER TABLE cairn.{table} ENABLE ROW LEVEL SECURITY;
            ALTER TABLE cairn.{table} FORCE ROW LEVEL SECURITY;
            CREATE POLICY tenant ON cairn.{table} TO cairn_app
              USING ({key} = cairn.current_account()) WITH CHECK ({key} = cairn.current_account());
            CREATE POLICY system ON cairn.{table} TO cairn_system USING (true) WITH CHECK (true);
        """)
    op.execute("""
        GRANT USAGE ON SCHEMA cairn TO cairn_app, cairn_system;
        -- Messages, sections, calls and answers are append-only by grant, not by promise.
        GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA cairn TO cairn_app;
        REVOKE INSERT ON cairn.accounts, cairn.archive_steps, cairn.check_sessions FROM cairn_app;
        GRANT UPDATE, DELETE ON cairn.sessions, cairn.users, cairn.api_keys, cairn.jobs TO cairn_app;
        GRANT DELETE ON cairn.accounts, cairn.idempotency_keys TO cairn_app;
        GRANT UPDATE ON cairn.archives, cairn.tool_calls, cairn.working_memory_deferred TO cairn_app;
        -- The system role reads everything (recounts, sweeps) and writes what its definer functions write.
        GRANT SELECT ON ALL TABLES IN SCHEMA cairn TO cairn_system;
        GRANT UPDATE ON cairn.jobs TO cairn_system;
        GRANT DELETE ON cairn.jobs, cairn.model_answers, cairn.idempotency_keys TO cairn_system;
        GRANT INSERT ON cairn.accounts, cairn.users TO cairn_system;
        GRANT UPDATE (last_used_at) ON cairn.api_keys TO cairn_system;
        -- cairn_app must be able to see which release it talks to.
        REVOKE ALL ON cairn.alembic_version FROM cairn_app;
        GRANT SELECT ON cairn.alembic_version TO cairn_app;
        -- A new owner of a function needs CREATE on its schema while it takes over.
        GRANT CREATE ON SCHEMA cairn TO cairn_system;
    """)
    for function in DEFINERS:
        op.execute(f"""
            REVOKE ALL ON FUNCTION cairn.{function} FROM PUBLIC;
            GRANT EXECUTE ON FUNCTION cairn.{function} TO cairn_app;
            ALTER FUNCTION cairn.{function} OWNER TO cairn_system;
        """)
    op.execute("REVOKE CREATE ON SCHEMA cairn FROM cairn_system")


def downgrade() -> None:
    op.execute("RESET ROLE")  # the login is a member of both roles; cairn_owner alone does not own these functions
    for function in DEFINERS:
        op.execute(f"""
            REVOKE ALL ON FUNCTION cairn.{function} FROM cairn_app;
            GRANT EXECUTE ON FUNCTION cairn.{function} TO PUBLIC;
            ALTER FUNCTION cairn.{function} OWNER TO cairn_owner;
        """)
    op.execute("SET ROLE cairn_owner")
    op.execute("""
        REVOKE ALL ON ALL TABLES IN SCHEMA cairn FROM cairn_app, cairn_system;
        REVOKE ALL (last_used_at) ON cairn.api_keys FROM cairn_system;
        REVOKE USAGE ON SCHEMA cairn FROM cairn_app, cairn_system;
    """)
    for table in ("accounts", *TENANT_TABLES):
        op.execute(f"""
            DROP POLICY tenant ON cairn.{table};
            DROP POLICY system ON cairn.{table};
            ALTER TABLE cairn.{table} NO FORCE ROW LEVEL SECURITY;
            ALTER TABLE cairn.{table} DISABLE ROW LEVEL SECURITY;
        """)
