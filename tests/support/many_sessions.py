"""A database as it looks in use: many accounts, many sessions, one of them long; statistics as after autovacuum."""

from dataclasses import dataclass

import psycopg

ACCOUNTS = 3
SESSIONS = 250
MESSAGES, LONG = 12, 600
"""Messages per session, and of the long one; both have two archives, the first with a document, the second without."""

FILL = """
    INSERT INTO cairn.accounts (id, name) SELECT a, 'account-' || a FROM generate_series(1, 2000) a;
    INSERT INTO cairn.users (account_id, id, name) SELECT a, 10 * a + u, 'user-' || u
      FROM generate_series(1, 300) a, generate_series(1, 5) u;
    CREATE TEMP TABLE shape AS
      SELECT a AS account, 1000 * a + s AS session, 10 * a + 1 + s % 5 AS person,
             CASE WHEN s = 1 THEN {long} ELSE {messages} END AS messages, CASE WHEN s = 1 THEN 100 ELSE 4 END AS size
        FROM generate_series(1, {accounts}) a, generate_series(1, {sessions}) s;
    INSERT INTO cairn.sessions (account_id, id, user_id, name, last_seq, last_tokens, last_user_seq, sealed_seq,
                                sealed_tokens, archive_count, last_message_at)
      SELECT account, session, person, 'session-' || session, messages, 10 * messages, messages, 2 * size, 20 * size, 2,
             now() FROM shape;
    INSERT INTO cairn.messages (account_id, session_id, seq, role, opens, parts, tokens, tokens_through,
                                client_message_id, body_sha256, reply_live, reply_pending, said_at, stored_at)
      SELECT account, session, n, 'user', 'turn', '[{{"type": "text", "text": "some words that fill a page"}}]', 10,
             10 * n, 'id-' || n, sha256('x'), n, 10 * n, now(), now()
        FROM shape, generate_series(1, messages) n;
    INSERT INTO cairn.tool_calls (account_id, session_id, call_seq, tool_id, result_seq)
      SELECT account, session, n, 'tool-' || n, CASE WHEN n < messages THEN n + 1 END
        FROM shape, generate_series(2, messages, 3) n;
    INSERT INTO cairn.archives (account_id, session_id, archive_no, first_seq, last_seq, tokens, trigger,
                                working_memory, base_archive_no, covers_from_seq)
      SELECT account, session, n, 1 + size * (n - 1), size * n, 10 * size, 'request',
             CASE n WHEN 1 THEN 'applied' ELSE 'failed' END, 0, 1
        FROM shape, generate_series(1, 2) n ORDER BY n;
    INSERT INTO cairn.jobs (account_id, kind, user_id, session_id, archive_no, state, finished_at)
      SELECT account, 'working_memory', person, session, n, 'done', now() FROM shape, generate_series(1, 2) n;
    INSERT INTO cairn.jobs (account_id, kind, user_id, session_id, state, order_key, mutex_key)
      SELECT account, 'working_memory', person, session, 'ready', 'wm:' || session, 'wm:' || session FROM shape
       WHERE session % 10 = 3;
    INSERT INTO cairn.working_memory_sections (account_id, session_id, archive_no, section, body, tokens, bullets,
                                               requested_op, applied_op, changed)
      SELECT account, session, 1, n, '- something', 3, 1, 'UPDATE', 'UPDATE', true
        FROM shape, generate_series(1, 7) n;
    INSERT INTO cairn.working_memory_deferred (account_id, session_id, section, item, reason, archive_no)
      SELECT account, session, 4, 'fact ' || n, 'throttled', 1 FROM shape, generate_series(1, 2) n;
    DROP TABLE shape;
    ANALYZE;
"""


@dataclass(frozen=True)
class Target:
    """A long session among the others."""

    account_id: int = 2
    user_id: int = 22
    session_id: int = 2001
    name: str = "session-2001"
    messages: int = LONG
    sealed: int = 200


def fill_database(superuser: psycopg.Connection) -> Target:
    filled = FILL.format(accounts=ACCOUNTS, sessions=SESSIONS, messages=MESSAGES, long=LONG)
    for statement in filled.split(";\n"):
        if statement.strip():
            superuser.execute(statement)
    return Target()
