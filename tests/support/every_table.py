"""One account with at least one row in every table, written past the policies."""

import psycopg

from app.domain.scope import Scope

ROWS = """
    INSERT INTO cairn.api_keys (account_id, user_id, prefix, key_sha256)
      VALUES (%(a)s, %(u)s, 'p', sha256(convert_to(%(a)s::text, 'UTF8')));
    INSERT INTO cairn.sessions (account_id, id, user_id, name, last_seq, last_tokens, sealed_seq, sealed_tokens,
                                archive_count)
      OVERRIDING SYSTEM VALUE VALUES (%(a)s, %(s)s, %(u)s, 'talk', 3, 30, 2, 20, 1);
    INSERT INTO cairn.messages (account_id, session_id, seq, role, parts, tokens, tokens_through, reply_live,
                                reply_pending, said_at, stored_at)
      SELECT %(a)s, %(s)s, n, 'user', '[]', 10, 10 * n, n, 10 * n, now(), now() FROM generate_series(1, 3) n;
    INSERT INTO cairn.tool_calls (account_id, session_id, call_seq, tool_id, result_seq)
      VALUES (%(a)s, %(s)s, 1, 't', 2);
    INSERT INTO cairn.tool_results (account_id, session_id, tool_result_id, seq, content, content_sha256, chars,
                                    preview_chars)
      VALUES (%(a)s, %(s)s, 'r', 2, 'long', sha256('long'), 4, 2);
    INSERT INTO cairn.archives (account_id, session_id, archive_no, first_seq, last_seq, tokens, trigger,
                                working_memory, covers_from_seq)
      VALUES (%(a)s, %(s)s, 1, 1, 2, 20, 'request', 'applied', 1);
    INSERT INTO cairn.working_memory_sections (account_id, session_id, archive_no, section, body, tokens, bullets,
                                               requested_op, applied_op, changed)
      SELECT %(a)s, %(s)s, 1, n, '- x', 2, 1, 'UPDATE', 'UPDATE', true FROM generate_series(1, 7) n;
    INSERT INTO cairn.working_memory_deferred (account_id, session_id, section, item, reason, archive_no)
      VALUES (%(a)s, %(s)s, 4, 'a fact', 'throttled', 1);
    INSERT INTO cairn.jobs (account_id, kind, user_id, session_id, archive_no, state, finished_at)
      VALUES (%(a)s, 'working_memory', %(u)s, %(s)s, 1, 'done', now());
    INSERT INTO cairn.model_calls (account_id, user_id, session_id, archive_no, purpose, provider, model, latency_ms,
                                   outcome)
      VALUES (%(a)s, %(u)s, %(s)s, 1, 'working_memory', 'fake', 'fake-1', 1, 'usable');
    INSERT INTO cairn.model_answers (account_id, session_id, archive_no, step, attempt, first_seq, last_seq, provider,
                                     model, transport, tool, tool_called, content, usable)
      VALUES (%(a)s, %(s)s, 1, 'working_memory', 1, 1, 2, 'fake', 'fake-1', 'plain', 'create', false, '{}', true);
    INSERT INTO cairn.idempotency_keys (account_id, user_id, key, route, body_sha256, reply)
      VALUES (%(a)s, %(u)s, 'k', 'POST /', sha256('body'), '{}');
"""


def fill_every_table(superuser: psycopg.Connection, scope: Scope) -> int:
    """Give an account a session with an archive and everything that hangs on it; return the session's id."""
    (session,) = superuser.execute("SELECT nextval(pg_get_serial_sequence('cairn.sessions', 'id'))").fetchone()
    values = {"a": scope.account_id, "u": scope.user_id, "s": session}
    for statement in ROWS.split(";\n"):
        if statement.strip():
            superuser.execute(statement, values)
    return session
