-- Close the live messages up to p_cut into an archive, with its steps and their jobs; no message row is touched, so the
-- cost does not depend on how many there are. The caller holds the session lock and has planned the cut in the same
-- transaction. With p_cut = sealed_seq nothing is archived and only the new window is remembered (archive_no is NULL).
--   p_keep      the window to remember; NULL: leave all of it as it is (an idle commit)
--   p_turns, p_budget, p_min_tail   keep whole turns from now on; NULL: keep messages
-- Errors: CA404 no such session.
CREATE FUNCTION cairn.seal_archive(
    p_account bigint, p_session bigint, p_cut bigint, p_keep int, p_turns int, p_budget int, p_min_tail int, p_trigger text,
    p_working_memory boolean, p_long_term_memory boolean, p_metadata jsonb, p_max_attempts int,
    OUT archive_no int, OUT task_id uuid, OUT first_seq bigint, OUT tokens bigint,
    OUT active_tokens bigint, OUT budget_exceeded boolean)   -- what stays visible in a session that keeps turns
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  s           record;
  cut         bigint := p_cut;
  cut_tokens  bigint;
  edge        bigint;
  edge_tokens bigint;
  pending     bigint;
  keep        int;
  mode        text;
  anchor      bigint;
  nothing     boolean := NOT p_working_memory AND NOT p_long_term_memory;
BEGIN
  SELECT t.* INTO s FROM cairn.sessions t WHERE t.account_id = p_account AND t.id = p_session FOR NO KEY UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'session not found' USING ERRCODE = 'CA404'; END IF;
  IF cut > s.sealed_seq THEN
    SELECT m.tokens_through INTO STRICT cut_tokens FROM cairn.messages m
     WHERE m.account_id = p_account AND m.session_id = p_session AND m.seq = cut;
    archive_no := s.archive_count + 1; first_seq := s.sealed_seq + 1; tokens := cut_tokens - s.sealed_tokens;
    INSERT INTO cairn.archives AS a
           (account_id, session_id, archive_no, first_seq, last_seq, tokens, trigger, working_memory, long_term_memory,
            extraction_metadata, finished_at)
    VALUES (p_account, p_session, archive_no, first_seq, cut, tokens, p_trigger,
            CASE WHEN p_working_memory THEN 'open' ELSE 'off' END, CASE WHEN p_long_term_memory THEN 'open' ELSE 'off' END,
            p_metadata, CASE WHEN nothing THEN clock_timestamp() END)
    RETURNING a.task_id INTO task_id;
    IF p_long_term_memory THEN
      PERFORM cairn.enqueue_job(p_account, 'long_term_memory', s.user_id, p_session, archive_no,
                                'ltm:' || p_session, 'owner:' || s.user_id, p_max_attempts);
    END IF;
    IF p_working_memory THEN
      PERFORM cairn.enqueue_job(p_account, 'working_memory', s.user_id, p_session, archive_no,
                                'wm:' || p_session, 'wm:' || p_session, p_max_attempts);
    END IF;
  ELSE
    cut := s.sealed_seq; cut_tokens := s.sealed_tokens;
  END IF;
  keep := coalesce(p_keep, s.keep_recent_count);
  active_tokens := 0; budget_exceeded := false;
  mode := CASE WHEN p_keep IS NULL THEN s.retention_mode WHEN p_turns IS NULL THEN 'message_count' ELSE 'turn_budget' END;
  IF mode = 'turn_budget' THEN
    anchor := cairn.anchor_before(p_account, p_session, cut, s.sealed_seq, s.last_seq, s.last_user_seq, s.anchor_seq);
    SELECT p.pending_tokens INTO pending FROM cairn.plan_turns(
      p_account, p_session, coalesce(p_turns, s.keep_recent_turn_count), coalesce(p_budget, s.retained_message_token_budget),
      coalesce(p_min_tail, s.min_raw_tail_steps), cut, cut_tokens, anchor, s.last_seq, s.last_tokens, s.last_user_seq,
      NULL, NULL) p;
    active_tokens := s.last_tokens - cut_tokens + coalesce((
      SELECT m.tokens FROM cairn.messages m
       WHERE m.account_id = p_account AND m.session_id = p_session AND m.seq = anchor), 0);
    budget_exceeded := active_tokens > coalesce(p_budget, s.retained_message_token_budget);
  ELSE
    edge := greatest(cut, s.last_seq - keep);
    IF edge = cut THEN
      edge_tokens := cut_tokens;
    ELSE
      SELECT m.tokens_through INTO STRICT edge_tokens FROM cairn.messages m
       WHERE m.account_id = p_account AND m.session_id = p_session AND m.seq = edge;
    END IF;
    pending := edge_tokens - cut_tokens;
  END IF;
  UPDATE cairn.sessions t
     SET sealed_seq = cut, sealed_tokens = cut_tokens, archive_count = coalesce(seal_archive.archive_no, t.archive_count),
         keep_recent_count = keep, pending_tokens = pending, retention_mode = mode, anchor_seq = anchor,
         keep_recent_turn_count = coalesce(p_turns, t.keep_recent_turn_count),
         retained_message_token_budget = coalesce(p_budget, t.retained_message_token_budget),
         min_raw_tail_steps = coalesce(p_min_tail, t.min_raw_tail_steps),
         last_commit_at = CASE WHEN seal_archive.archive_no IS NULL THEN t.last_commit_at ELSE clock_timestamp() END,
         last_auto_commit_at = CASE WHEN seal_archive.archive_no IS NULL OR p_trigger NOT IN ('threshold', 'idle')
                                    THEN t.last_auto_commit_at ELSE clock_timestamp() END,
         swept = t.swept OR p_trigger = 'idle'
   WHERE t.account_id = p_account AND t.id = p_session;
END $$;
