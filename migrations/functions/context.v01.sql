-- What a reader needs, in one statement and one snapshot: every message the newest document does not cover, in order.
-- Ranges left out on purpose (working memory off, archive discarded) stay out. No archive status is consulted.
-- A person's message whose turn goes on among the live messages (sessions.anchor_seq) is shown though it is archived.
-- The bounds are scalar subqueries, not joins, so that they become index conditions; COALESCE stands inside them, because
-- around them the comparison would not count as leakproof and would be a filter over the whole session under
-- row-level security. A bound the planner cannot see looks like a third of the table: hence no sequential scans in here.
CREATE FUNCTION cairn.context_messages(p_account bigint, p_session bigint)
RETURNS TABLE (seq bigint, message_id uuid, role text, peer_id text, origin text, parts jsonb, attributes jsonb, tokens int,
               said_at timestamptz, archive_no int)
LANGUAGE sql STABLE SET enable_seqscan = off AS $$
  WITH d AS MATERIALIZED (
         SELECT a.archive_no, a.last_seq FROM cairn.archives a
          WHERE a.account_id = p_account AND a.session_id = p_session AND a.has_document
          ORDER BY a.archive_no DESC LIMIT 1),
       o AS MATERIALIZED (
         SELECT a.first_seq, a.last_seq, a.archive_no, a.working_memory IN ('off', 'discarded') AS left_out
           FROM cairn.archives a
          WHERE a.account_id = p_account AND a.session_id = p_session
            AND a.archive_no > (SELECT coalesce(max(d.archive_no), 0) FROM d))
  SELECT m.seq, m.message_id, m.role, m.peer_id, m.origin, m.parts, m.attributes, m.tokens, m.said_at, a.archive_no
    FROM cairn.messages m CROSS JOIN LATERAL (
         SELECT r.archive_no, r.working_memory FROM cairn.archives r
          WHERE r.account_id = p_account AND r.session_id = p_session AND r.last_seq >= m.seq ORDER BY r.last_seq LIMIT 1) a
   WHERE m.account_id = p_account AND m.session_id = p_session
     AND m.seq = (SELECT s.anchor_seq FROM cairn.sessions s WHERE s.account_id = p_account AND s.id = p_session)
     AND (a.archive_no <= (SELECT max(d.archive_no) FROM d) OR a.working_memory IN ('off', 'discarded'))
  UNION ALL
  SELECT m.seq, m.message_id, m.role, m.peer_id, m.origin, m.parts, m.attributes, m.tokens, m.said_at, o.archive_no
    FROM cairn.messages m LEFT JOIN o ON m.seq BETWEEN o.first_seq AND o.last_seq
   WHERE m.account_id = p_account AND m.session_id = p_session
     AND m.seq > (SELECT coalesce(max(d.last_seq), 0) FROM d) AND o.left_out IS NOT TRUE
   ORDER BY seq
$$;

-- The pairs of tool call and result that a cut after p_cut would tear, and those that moving the cut back would tear
-- in turn. A call without a result counts while no person has spoken since (result_seq is NULL then).
-- It reads the calls answered after the cut and never the history before it: a commit must not cost more the longer the
-- conversation is. Hence LATERAL with OFFSET 0 instead of a join that would read the session once, and the `+ 0`, which
-- leaves the index over result_seq as the only way in.
CREATE FUNCTION cairn.torn_tool_calls(p_account bigint, p_session bigint, p_cut bigint)
RETURNS TABLE (call_seq bigint, result_seq bigint) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE torn (call_seq, result_seq) AS (
    (SELECT c.call_seq, c.result_seq FROM cairn.tool_calls c
      WHERE c.account_id = p_account AND c.session_id = p_session AND c.result_seq > p_cut AND c.call_seq + 0 <= p_cut
     UNION ALL
     SELECT c.call_seq, c.result_seq FROM cairn.tool_calls c
      WHERE c.account_id = p_account AND c.session_id = p_session AND c.result_seq IS NULL AND c.call_seq <= p_cut
        AND c.call_seq > (SELECT s.last_user_seq FROM cairn.sessions s WHERE s.account_id = p_account AND s.id = p_session))
    UNION
    SELECT b.call_seq, b.result_seq FROM torn t CROSS JOIN LATERAL (
      SELECT c.call_seq, c.result_seq FROM cairn.tool_calls c
       WHERE c.account_id = p_account AND c.session_id = p_session AND c.result_seq >= t.call_seq
         AND c.call_seq + 0 < t.call_seq OFFSET 0) b)
  SELECT torn.call_seq, torn.result_seq FROM torn
$$;
