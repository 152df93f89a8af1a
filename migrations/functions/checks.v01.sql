-- Every counter rebuilt from its rows. Each row these views return is a fault.
CREATE VIEW cairn.check_sessions WITH (security_invoker = true) AS
  SELECT s.account_id, s.id AS session_id, 'counters differ from a recount' AS fault FROM cairn.sessions s
    CROSS JOIN LATERAL (
      SELECT count(*) AS n, coalesce(max(m.seq), 0) AS top, coalesce(sum(m.tokens), 0) AS tokens,
             coalesce(sum(m.tokens) FILTER (WHERE m.seq <= s.sealed_seq), 0) AS sealed,
             coalesce(sum(m.tokens) FILTER (WHERE m.seq > s.sealed_seq AND m.seq <= s.last_seq - s.keep_recent_count), 0) AS pending
        FROM cairn.messages m WHERE m.account_id = s.account_id AND m.session_id = s.id) c
    LEFT JOIN LATERAL cairn.plan_turns(
      s.account_id, s.id, s.keep_recent_turn_count, s.retained_message_token_budget, s.min_raw_tail_steps, s.sealed_seq,
      s.sealed_tokens, s.anchor_seq, s.last_seq, s.last_tokens, s.last_user_seq, NULL, NULL) p
      ON s.retention_mode = 'turn_budget'
    CROSS JOIN LATERAL (
      SELECT count(*) AS archives, coalesce(max(r.last_seq), 0) AS sealed_seq
        FROM cairn.archives r WHERE r.account_id = s.account_id AND r.session_id = s.id) a
   WHERE (s.last_seq, s.last_seq, s.last_tokens, s.sealed_tokens, s.pending_tokens, s.archive_count::bigint, s.sealed_seq)
      IS DISTINCT FROM (c.n, c.top, c.tokens, c.sealed, coalesce(p.pending_tokens, c.pending), a.archives, a.sealed_seq)
  UNION ALL
  SELECT s.account_id, s.id, 'the live messages do not go on with the turn of message ' || s.anchor_seq
    FROM cairn.sessions s JOIN cairn.messages m ON m.account_id = s.account_id AND m.session_id = s.id AND m.seq = s.sealed_seq + 1
   WHERE s.anchor_seq IS NOT NULL AND (m.opens = 'turn' OR NOT EXISTS (
         SELECT FROM cairn.messages a WHERE a.account_id = s.account_id AND a.session_id = s.id AND a.seq = s.anchor_seq
                        AND a.opens = 'turn'))
  UNION ALL
  SELECT m.account_id, m.session_id, 'tokens_through is not the running sum at message ' || m.seq
    FROM (SELECT account_id, session_id, seq, tokens_through,
                 sum(tokens) OVER (PARTITION BY account_id, session_id ORDER BY seq) AS recount FROM cairn.messages) m
   WHERE m.tokens_through <> m.recount
  UNION ALL
  SELECT r.account_id, r.session_id, 'archive ' || r.archive_no || ': ' || v.step || ' is open and no job works on it'
    FROM cairn.archives r
    CROSS JOIN LATERAL (VALUES ('working_memory', r.working_memory), ('long_term_memory', r.long_term_memory)) v (step, state)
   WHERE v.state = 'open'
     AND NOT EXISTS (SELECT FROM cairn.jobs j WHERE j.account_id = r.account_id AND j.session_id = r.session_id
                        AND j.archive_no = r.archive_no AND j.kind = v.step AND j.state IN ('waiting', 'ready', 'running'))
  UNION ALL
  SELECT r.account_id, r.session_id, 'archive ' || r.archive_no || ' has a document of ' || count(w.section) || ' sections'
    FROM cairn.archives r LEFT JOIN cairn.working_memory_sections w ON w.account_id = r.account_id
         AND w.session_id = r.session_id AND w.archive_no = r.archive_no AND w.revision = r.document_revision
   WHERE r.has_document AND r.legacy_overview IS NULL GROUP BY r.account_id, r.session_id, r.archive_no HAVING count(w.section) <> 7
  UNION ALL
  SELECT j.account_id, min(j.session_id), 'order ' || j.order_key || ' has no head'
    FROM cairn.jobs j WHERE j.state IN ('waiting', 'ready', 'running') AND j.order_key IS NOT NULL
   GROUP BY j.account_id, j.order_key HAVING bool_and(j.state = 'waiting');
