"""The rows of the queue, as tests look at them and let time pass in them."""

from typing import Any

import psycopg

from tests.support.waiting import eventually


def job(superuser: psycopg.Connection, session: str = "talk", archive_no: int = 1) -> Any:
    return superuser.execute(
        "SELECT j.* FROM cairn.jobs j JOIN cairn.sessions s ON s.id = j.session_id"
        " WHERE s.name = %s AND archive_no = %s",
        [session, archive_no],
    ).fetchone()


async def job_is(superuser: psycopg.Connection, state: str, attempts: int) -> None:
    async def look() -> bool:
        row = job(superuser)
        return (row.state, row.attempts) == (state, attempts)

    await eventually(look, f"the job being {state} after {attempts} attempts")


def end_the_pause(superuser: psycopg.Connection) -> None:
    """Let the time of a backoff pass, and wake the workers."""
    superuser.execute("UPDATE cairn.jobs SET run_at = now() WHERE state = 'ready'")
    superuser.execute("NOTIFY cairn_jobs")
