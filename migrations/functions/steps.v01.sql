-- Steps of an archive: what an update builds on, and how a step begins, ends, is retried and is cancelled.

-- The newest document before p_archive. Read it with the snapshot, compare it again in the apply.
CREATE FUNCTION cairn.base_document(p_account bigint, p_session bigint, p_archive int,
                                    OUT archive_no int, OUT last_seq bigint, OUT revision int) LANGUAGE sql STABLE AS $$
  SELECT a.archive_no, a.last_seq, a.document_revision FROM cairn.archives a
   WHERE a.account_id = p_account AND a.session_id = p_session AND a.has_document AND a.archive_no < p_archive
   ORDER BY a.archive_no DESC LIMIT 1
$$;

-- End a step, in the transaction that writes its rows. false = fenced off (lease lost, cancelled, session deleted): the
-- caller rolls everything back.
--   p_outcome  applied | nothing_to_remember | partial | unusable | failed | cancelled
--   p_retry_in not NULL = back to the queue instead of ending; a job that was asked to stop ends cancelled instead
--   p_base, p_base_revision  the document that the working-memory update was merged into; CA412 = it moved, merge again
CREATE FUNCTION cairn.finish_step(
    p_account bigint, p_job bigint, p_epoch int, p_outcome text, p_error_class text, p_error_text text,
    p_retry_in interval, p_base int, p_base_revision int, p_abstract text, p_document_source text,
    p_document_provider text, p_result jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE j record; b record; ended text; low int; writes_document boolean; stop_asked boolean;
BEGIN
  SELECT session_id, archive_no, kind, order_key INTO j FROM cairn.jobs
   WHERE account_id = p_account AND id = p_job AND epoch = p_epoch AND state = 'running';
  IF NOT FOUND THEN RETURN false; END IF;
  low := coalesce(p_base, j.archive_no);   -- COALESCE in the comparison would make it a filter under row-level security
  IF j.archive_no IS NOT NULL THEN
    PERFORM FROM cairn.archives WHERE account_id = p_account AND session_id = j.session_id
       AND archive_no BETWEEN low AND j.archive_no ORDER BY archive_no FOR NO KEY UPDATE;
  END IF;
  PERFORM cairn.lock_lanes(p_account, j.order_key);
  SELECT cancel_asked INTO stop_asked FROM cairn.jobs WHERE account_id = p_account AND id = p_job;
  IF stop_asked AND (p_retry_in IS NOT NULL OR p_outcome IN ('failed', 'unusable')) THEN
    p_outcome := 'cancelled'; p_retry_in := NULL;
  END IF;
  ended := CASE WHEN p_retry_in IS NOT NULL THEN 'ready'
                WHEN p_outcome IN ('failed', 'unusable') THEN 'failed'
                WHEN p_outcome = 'cancelled' THEN 'cancelled' ELSE 'done' END;
  UPDATE cairn.jobs SET state = ended, worker = NULL, lease_until = NULL,
         outcome = CASE WHEN p_retry_in IS NULL THEN p_outcome END, error_class = p_error_class, error_text = p_error_text,
         attempts = attempts - CASE WHEN p_error_class = 'released' THEN 1 ELSE 0 END,   -- its worker only stopped
         result = coalesce(p_result, result), run_at = clock_timestamp() + coalesce(p_retry_in, '0'),
         finished_at = CASE WHEN p_retry_in IS NULL THEN clock_timestamp() END
   WHERE account_id = p_account AND id = p_job AND epoch = p_epoch AND state = 'running';
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM pg_notify('cairn_tasks', a.task_id::text) FROM cairn.archives a
    WHERE a.account_id = p_account AND a.session_id = j.session_id AND a.archive_no = j.archive_no;
  IF p_retry_in IS NOT NULL THEN RETURN true; END IF;
  writes_document := p_outcome IN ('applied', 'nothing_to_remember', 'partial');
  IF j.kind = 'working_memory' AND writes_document THEN
    SELECT * INTO b FROM cairn.base_document(p_account, j.session_id, j.archive_no);
    IF coalesce(b.archive_no, 0) <> p_base OR coalesce(b.revision, 0) <> p_base_revision THEN
      RAISE EXCEPTION 'the document moved' USING ERRCODE = 'CA412';
    END IF;
    UPDATE cairn.archives SET working_memory = p_outcome, base_archive_no = p_base,
           covers_from_seq = coalesce(b.last_seq, 0) + 1, abstract = coalesce(p_abstract, abstract),
           document_source = p_document_source, document_provider = p_document_provider, finished_at = clock_timestamp()
     WHERE account_id = p_account AND session_id = j.session_id AND archive_no = j.archive_no;
    -- failed ones in between are taken in; a retry of them that still waits has nothing left to do
    UPDATE cairn.archives SET working_memory = 'covered', finished_at = coalesce(finished_at, clock_timestamp())
     WHERE account_id = p_account AND session_id = j.session_id AND archive_no > p_base AND archive_no < j.archive_no
       AND working_memory IN ('open', 'failed', 'unusable', 'cancelled');
    UPDATE cairn.jobs SET state = 'done', outcome = 'covered', finished_at = clock_timestamp()
     WHERE account_id = p_account AND session_id = j.session_id AND archive_no > p_base AND archive_no < j.archive_no
       AND kind = 'working_memory' AND state IN ('waiting', 'ready');
  ELSIF j.kind = 'working_memory' THEN
    UPDATE cairn.archives SET working_memory = p_outcome, finished_at = clock_timestamp()
     WHERE account_id = p_account AND session_id = j.session_id AND archive_no = j.archive_no;
  ELSIF j.kind = 'long_term_memory' THEN
    UPDATE cairn.archives SET long_term_memory = p_outcome, finished_at = clock_timestamp()
     WHERE account_id = p_account AND session_id = j.session_id AND archive_no = j.archive_no;
  END IF;
  PERFORM cairn.promote_lane(p_account, j.order_key);
  RETURN true;
END $$;

-- Mark an archive as being worked on, once. The claim does not touch it, because the claim must never wait for a row.
CREATE FUNCTION cairn.start_archive(p_account bigint, p_session bigint, p_archive int) RETURNS void LANGUAGE sql AS $$
  WITH begun AS (
    UPDATE cairn.archives SET started_at = clock_timestamp()
     WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive AND started_at IS NULL
    RETURNING task_id)
  SELECT pg_notify('cairn_tasks', task_id::text) FROM begun
$$;

-- Cancel: what has not begun ends here; what runs is asked to stop, and finish_step(..., 'cancelled') follows.
-- Returns the number of steps that were ended or asked; 0 = nothing was open.
CREATE FUNCTION cairn.cancel_archive(p_account bigint, p_session bigint, p_archive int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE ended text[]; asked int;
BEGIN
  PERFORM FROM cairn.archives WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive FOR NO KEY UPDATE;
  PERFORM cairn.lock_lanes(p_account, 'ltm:' || p_session, 'wm:' || p_session);
  WITH gone AS (
    UPDATE cairn.jobs SET state = 'cancelled', outcome = 'cancelled', cancel_asked = true, finished_at = clock_timestamp()
     WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive AND state IN ('waiting', 'ready')
    RETURNING kind)
  SELECT array_agg(kind) INTO ended FROM gone;
  UPDATE cairn.jobs SET cancel_asked = true
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive AND state = 'running';
  GET DIAGNOSTICS asked = ROW_COUNT;
  IF asked > 0 THEN PERFORM pg_notify('cairn_cancel', ''); END IF;
  PERFORM pg_notify('cairn_tasks', a.task_id::text) FROM cairn.archives a
    WHERE a.account_id = p_account AND a.session_id = p_session AND a.archive_no = p_archive;
  IF ended IS NULL THEN RETURN asked; END IF;
  -- one UPDATE: a second one of the same row in one transaction makes Postgres check its foreign keys again
  UPDATE cairn.archives
     SET working_memory   = CASE WHEN 'working_memory'   = ANY (ended) THEN 'cancelled' ELSE working_memory END,
         long_term_memory = CASE WHEN 'long_term_memory' = ANY (ended) THEN 'cancelled' ELSE long_term_memory END,
         finished_at = clock_timestamp()
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive;
  PERFORM cairn.promote_lane(p_account, 'ltm:' || p_session), cairn.promote_lane(p_account, 'wm:' || p_session);
  RETURN asked + cardinality(ended);
END $$;
