"""What the database itself refuses, whoever writes."""

import psycopg
import pytest
from psycopg import errors

from app.domain.scope import Scope
from tests.support.every_table import fill_every_table

ARCHIVE = """
    INSERT INTO cairn.archives (account_id, session_id, archive_no, first_seq, last_seq, tokens, trigger,
                                working_memory, base_archive_no, covers_from_seq)
    VALUES ({account}, {session}, {values})
"""
BROKEN_ARCHIVES = {
    "a gap before it": "2, 4, 5, 0, 'request', 'open', 0, NULL",
    "an overlap with its predecessor": "2, 2, 3, 10, 'request', 'open', 0, NULL",
    "a number that leaves one out": "3, 3, 3, 10, 'request', 'open', 0, NULL",
    "a number that is taken": "1, 1, 3, 10, 'request', 'open', 0, NULL",
    "a second beginning": "2, 1, 3, 30, 'request', 'open', 0, NULL",
    "an end without a message": "2, 3, 4, 10, 'request', 'open', 0, NULL",
    "an end before its beginning": "2, 3, 2, 0, 'request', 'open', 0, NULL",
    "negative tokens": "2, 3, 3, -1, 'request', 'open', 0, NULL",
    "an unknown outcome": "2, 3, 3, 10, 'request', 'splendid', 0, NULL",
    "a document that builds on none where there is one": "2, 3, 3, 10, 'request', 'applied', 0, 1",
    "a document on a base that ends elsewhere": "2, 3, 3, 10, 'request', 'applied', 1, 2",
    "a document that covers nobody knows what": "2, 3, 3, 10, 'request', 'applied', 1, NULL",
    "a base later than itself": "2, 3, 3, 10, 'request', 'applied', 2, 3",
}
BROKEN_SESSIONS = {
    "pending_tokens = -1",
    "pending_tokens = 11",
    "keep_recent_count = -1",
    "keep_recent_count = 10001",
    "sealed_seq = 4",
    "sealed_seq = -1",
    "sealed_tokens = 31",
    "last_user_seq = 4",
    "archive_count = 0",
    "name = ''",
    "name = repeat('ü', 513)",
}
BROKEN_MESSAGES = {
    "the seq of another": {"seq": "3"},
    "seq 0": {"seq": "0"},
    "negative tokens": {"tokens": "-1"},
    "a running sum below its own tokens": {"tokens_through": "9"},
    "an unknown role": {"role": "'nobody'"},
    "parts that are no list": {"parts": "'{}'"},
    "an empty client id": {"client_message_id": "''"},
    "a client id too long for an index": {"client_message_id": "repeat('x', 513)"},
    "a client id without a fingerprint": {"client_message_id": "'a'"},
    "an unknown origin": {"origin": "'dream'"},
}
BROKEN_JOBS = {
    "a running job nobody runs": "'running', NULL, NULL, NULL, NULL",
    "a waiting job with a lease": "'ready', NULL, 'w', now(), NULL",
    "a job that waits for no one": "'waiting', NULL, NULL, NULL, NULL",
    "an ended job without an end": "'done', NULL, NULL, NULL, NULL",
    "an unknown state": "'resting', NULL, NULL, NULL, NULL",
}


@pytest.fixture
def session(superuser: psycopg.Connection, scope: Scope) -> int:
    """Three messages of ten tokens, two of them in an archive with a document."""
    return fill_every_table(superuser, scope)


@pytest.mark.parametrize("values", BROKEN_ARCHIVES.values(), ids=BROKEN_ARCHIVES)
def test_an_archive_that_breaks_the_chain_is_refused(
    superuser: psycopg.Connection, scope: Scope, session: int, values: str
) -> None:
    with pytest.raises(errors.IntegrityError):
        superuser.execute(ARCHIVE.format(account=scope.account_id, session=session, values=values))


def test_an_archive_that_continues_the_chain_is_taken(
    superuser: psycopg.Connection, scope: Scope, session: int
) -> None:
    values = "2, 3, 3, 10, 'request', 'applied', 1, 3"
    superuser.execute(ARCHIVE.format(account=scope.account_id, session=session, values=values))
    (row,) = superuser.execute("SELECT status, outcome FROM cairn.archives WHERE archive_no = 2")
    assert row == ("completed", "applied")


def test_a_document_has_one_successor(superuser: psycopg.Connection, scope: Scope, session: int) -> None:
    superuser.execute("UPDATE cairn.sessions SET last_seq = 4, last_tokens = 40")
    insert_message(superuser, scope, session, {"seq": "4", "tokens_through": "40"})
    superuser.execute(ARCHIVE.format(account=scope.account_id, session=session,
                                     values="2, 3, 3, 10, 'request', 'applied', 1, 3"))  # fmt: skip
    with pytest.raises(errors.UniqueViolation, match="archives_one_successor"):
        superuser.execute(ARCHIVE.format(account=scope.account_id, session=session,
                                         values="3, 4, 4, 10, 'request', 'applied', 1, 3"))  # fmt: skip


@pytest.mark.parametrize("column", ["status", "outcome", "has_document", "prev_archive_no"])
def test_what_is_computed_from_the_steps_cannot_be_written(
    superuser: psycopg.Connection, session: int, column: str
) -> None:
    with pytest.raises(errors.GeneratedAlways):
        superuser.execute(f"UPDATE cairn.archives SET {column} = {column}")


@pytest.mark.parametrize(
    ("working_memory", "long_term_memory", "embedding", "status", "outcome"),
    [
        ("open", "open", "skipped", "pending", None),
        ("open", "applied", "skipped", "pending", None),
        ("applied", "open", "skipped", "pending", None),
        ("applied", "applied", "open", "pending", None),
        ("applied", "off", "skipped", "completed", "applied"),
        ("applied", "applied", "failed", "completed", "partial"),
        ("nothing_to_remember", "nothing_to_remember", "applied", "completed", "nothing_to_remember"),
        ("partial", "applied", "skipped", "completed", "partial"),
        ("covered", "off", "skipped", "completed", "nothing_to_remember"),
        ("failed", "applied", "skipped", "failed", "failed"),
        ("applied", "unusable", "skipped", "failed", "unusable"),
        ("cancelled", "applied", "skipped", "cancelled", "cancelled"),
        ("failed", "cancelled", "skipped", "failed", "failed"),
        ("discarded", "off", "skipped", "discarded", "discarded"),
    ],
)
def test_the_status_of_an_archive_follows_from_its_steps(
    superuser: psycopg.Connection, session: int, working_memory: str, long_term_memory: str, embedding: str,
    status: str, outcome: str | None,
) -> None:  # fmt: skip
    superuser.execute(
        "UPDATE cairn.archives SET working_memory = %s, long_term_memory = %s, embedding = %s",
        [working_memory, long_term_memory, embedding],
    )
    assert superuser.execute("SELECT status, outcome FROM cairn.archives").fetchone() == (status, outcome)
    superuser.execute("UPDATE cairn.archives SET started_at = now()")
    running = "running" if status == "pending" else status
    assert superuser.execute("SELECT status FROM cairn.archives").fetchone() == (running,)


@pytest.mark.parametrize("change", sorted(BROKEN_SESSIONS))
def test_counters_that_cannot_be_are_refused(superuser: psycopg.Connection, session: int, change: str) -> None:
    with pytest.raises(errors.CheckViolation):
        superuser.execute(f"UPDATE cairn.sessions SET {change}")


@pytest.mark.parametrize("change", BROKEN_MESSAGES.values(), ids=BROKEN_MESSAGES)
def test_a_message_that_cannot_be_is_refused(
    superuser: psycopg.Connection, scope: Scope, session: int, change: dict[str, str]
) -> None:
    with pytest.raises(errors.IntegrityError):
        insert_message(superuser, scope, session, change)


@pytest.mark.parametrize("state", BROKEN_JOBS.values(), ids=BROKEN_JOBS)
def test_a_job_that_cannot_be_is_refused(superuser: psycopg.Connection, scope: Scope, state: str) -> None:
    with pytest.raises(errors.CheckViolation):
        superuser.execute(
            "INSERT INTO cairn.jobs (account_id, kind, state, order_key, worker, lease_until, finished_at)"
            f" VALUES ({scope.account_id}, 'working_memory', {state})"
        )


def test_an_order_has_one_head_and_a_mutex_one_holder(superuser: psycopg.Connection, scope: Scope) -> None:
    ready = (
        f"INSERT INTO cairn.jobs (account_id, kind, state, order_key) VALUES ({scope.account_id}, 'k', 'ready', 'o')"
    )
    superuser.execute(ready)
    with pytest.raises(errors.UniqueViolation, match="jobs_one_head"):
        superuser.execute(ready)
    running = (
        "INSERT INTO cairn.jobs (account_id, kind, state, mutex_key, worker, lease_until)"
        f" VALUES ({scope.account_id}, 'k', 'running', 'm', 'w', now())"
    )
    superuser.execute(running)
    with pytest.raises(errors.UniqueViolation, match="jobs_mutex"):
        superuser.execute(running)


def test_a_step_of_an_archive_is_one_job(superuser: psycopg.Connection, session: int) -> None:
    with pytest.raises(errors.UniqueViolation, match="jobs_step"):
        superuser.execute(
            "INSERT INTO cairn.jobs (account_id, kind, session_id, archive_no, state)"
            " SELECT account_id, kind, session_id, archive_no, 'ready' FROM cairn.jobs WHERE archive_no IS NOT NULL"
        )


def insert_message(superuser: psycopg.Connection, scope: Scope, session: int, change: dict[str, str]) -> None:
    """Insert message 4, ten tokens long, with some columns changed."""
    columns = {
        "account_id": str(scope.account_id), "session_id": str(session), "seq": "4", "role": "'user'", "parts": "'[]'",
        "tokens": "10", "tokens_through": "40", "reply_live": "2", "reply_pending": "20", "said_at": "now()",
        "stored_at": "now()", **change,
    }  # fmt: skip
    superuser.execute(f"INSERT INTO cairn.messages ({', '.join(columns)}) VALUES ({', '.join(columns.values())})")
