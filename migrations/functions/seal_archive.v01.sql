-- Close the live messages up to p_cut into an archive, with its steps and their jobs; no message row is touched, so the
-- cost does not depend on how many there are. The caller holds the session lock and has planned the cut in the same
-- transaction. With p_cut = sealed_seq nothing is archived and only the new window is remembered (archive_no is NULL).
-- Errors: CA404 no such session.
CREATE FUNCTION cairn.seal_archive(
    p_account bigint, p_session bigint, p_cut bigint, p_keep int, p_trigger text,
    p_working_memory boolean, p_long_term_memory boolean, p_max_attempts int,
    OUT archive_no int, OUT task_id uuid, OUT first_seq bigint, OUT tokens bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  s           record;
  cut         bigint := p_cut;
  cut_tokens  bigint;
  edge        bigint;
  edge_tokens bigint;
BEGIN
  SELECT t.* INTO s FROM cairn.sessions t WHERE t.account_id = p_account AND t.id = p_session FOR NO KEY UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'session not found' USING ERRCODE = 'CA404'; END IF;
  IF cut > s.sealed_seq THEN
    SELECT m.tokens_through INTO STRICT cut_tokens FROM cairn.messages m
     WHERE m.account_id = p_account AND m.session_id = p_session AND m.seq = cut;
    archive_no := s.archive_count + 1; first_seq := s.sealed_seq + 1; tokens := cut_tokens - s.sealed_tokens;
    INSERT INTO cairn.archives AS a
           (account_id, session_id, archive_no, first_seq, last_seq, tokens, trigger, working_memory, long_term_memory)
    VALUES (p_account, p_session, archive_no, first_seq, cut, tokens, p_trigger,
            CASE WHEN p_working_memory THEN 'open' ELSE 'off' END, CASE WHEN p_long_term_memory THEN 'open' ELSE 'off' END)
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
  edge := greatest(cut, s.last_seq - p_keep);
  IF edge = cut THEN
    edge_tokens := cut_tokens;
  ELSE
    SELECT m.tokens_through INTO STRICT edge_tokens FROM cairn.messages m
     WHERE m.account_id = p_account AND m.session_id = p_session AND m.seq = edge;
  END IF;
  UPDATE cairn.sessions t
     SET sealed_seq = cut, sealed_tokens = cut_tokens, archive_count = coalesce(seal_archive.archive_no, t.archive_count),
         keep_recent_count = p_keep, pending_tokens = edge_tokens - cut_tokens,
         last_commit_at = CASE WHEN seal_archive.archive_no IS NULL THEN t.last_commit_at ELSE clock_timestamp() END
   WHERE t.account_id = p_account AND t.id = p_session;
END $$;
