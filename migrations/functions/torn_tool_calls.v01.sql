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
