"""Create the functions that append, seal, claim and end, identity lookups and the recount views.

Phase: expand (the previous release runs unchanged)
"""

from alembic import op

revision = "20261130_1830"
down_revision = "20261130_1820"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in (
        "plan_turns", "append_messages", "queue", "seal_archive", "steps", "retry", "torn_tool_calls", "identity",
        "idempotency", "upkeep", "auto_commit", "checks",
    ):  # fmt: skip
        op.run_sql_file(f"functions/{name}.v01.sql")


def downgrade() -> None:
    op.execute("""
        DROP VIEW cairn.check_sessions;
        DROP FUNCTION cairn.forget_old_rows, cairn.orphaned_steps, cairn.recall_reply, cairn.revive_step,
          cairn.discard_archive, cairn.retry_archive, cairn.requeue_steps, cairn.failed_steps, cairn.count_jobs,
          cairn.find_account, cairn.list_accounts, cairn.create_account, cairn.find_key, cairn.find_identity,
          cairn.torn_tool_calls, cairn.cancel_archive, cairn.start_archive, cairn.finish_step,
          cairn.base_document, cairn.reap_jobs, cairn.heartbeat_jobs, cairn.claim_jobs, cairn.seal_archive,
          cairn.enqueue_job, cairn.promote_lane, cairn.lock_lanes, cairn.append_messages,
          cairn.idle_sessions, cairn.anchor_before, cairn.plan_turns;
    """)
