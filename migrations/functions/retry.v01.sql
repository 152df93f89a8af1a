-- Second chances: run failed steps of an archive again, or leave the archive out on purpose.

-- The steps of an archive that failed, by the name of their column.
CREATE FUNCTION cairn.failed_steps(p_archive cairn.archives) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg(v.step ORDER BY v.step), '{}')
    FROM (VALUES ('working_memory', p_archive.working_memory), ('long_term_memory', p_archive.long_term_memory),
                 ('embedding', p_archive.embedding)) v (step, came_to)
   WHERE v.came_to IN ('failed', 'unusable', 'cancelled')
$$;

-- Put steps of an archive back into the queue: the same row, with p_more attempts left. A step whose row is gone gets
-- another. The caller holds the archive and the lanes, and has opened the steps.
CREATE FUNCTION cairn.requeue_steps(p_account bigint, p_session bigint, p_archive int, p_steps text[], p_more int)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE step text; order_key text; owner bigint;
BEGIN
  FOREACH step IN ARRAY p_steps LOOP
    UPDATE cairn.jobs j
       SET state = CASE WHEN j.order_key IS NULL THEN 'ready' ELSE 'waiting' END, run_at = clock_timestamp(),
           max_attempts = j.attempts + p_more, cancel_asked = false, outcome = NULL, finished_at = NULL,
           payload = j.payload || jsonb_build_object('tried_before', j.attempts)      -- pauses begin anew
     WHERE j.account_id = p_account AND j.session_id = p_session AND j.archive_no = p_archive AND j.kind = step
       AND j.state IN ('done', 'failed', 'cancelled')
    RETURNING j.order_key INTO order_key;
    IF FOUND THEN
      IF order_key IS NULL THEN PERFORM pg_notify('cairn_jobs', ''); ELSE PERFORM cairn.promote_lane(p_account, order_key); END IF;
      CONTINUE;
    END IF;
    SELECT s.user_id INTO owner FROM cairn.sessions s WHERE s.account_id = p_account AND s.id = p_session;
    PERFORM cairn.enqueue_job(p_account, step, owner, p_session, p_archive,
                              CASE step WHEN 'working_memory' THEN 'wm:' || p_session WHEN 'long_term_memory' THEN 'ltm:' || p_session END,
                              CASE step WHEN 'working_memory' THEN 'wm:' || p_session WHEN 'long_term_memory' THEN 'owner:' || owner END,
                              p_more);
  END LOOP;
END $$;

-- Run the failed steps of an archive again. Working memory that a later document took in meanwhile is not run again and
-- ends covered. Returns the steps that run again.
-- Errors: CA404 no such archive; CA417 nothing failed.
CREATE FUNCTION cairn.retry_archive(p_account bigint, p_session bigint, p_archive int, p_more int) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE a cairn.archives; failed text[]; covered boolean; again text[]; idle boolean;
BEGIN
  SELECT * INTO a FROM cairn.archives
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive FOR NO KEY UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'archive not found' USING ERRCODE = 'CA404'; END IF;
  failed := cairn.failed_steps(a);
  IF failed = '{}' THEN RAISE EXCEPTION 'nothing to retry' USING ERRCODE = 'CA417'; END IF;
  PERFORM cairn.lock_lanes(p_account, 'ltm:' || p_session, 'wm:' || p_session);
  covered := 'working_memory' = ANY (failed) AND EXISTS (
    SELECT FROM cairn.archives WHERE account_id = p_account AND session_id = p_session AND archive_no > p_archive AND has_document);
  again := CASE WHEN covered THEN array_remove(failed, 'working_memory') ELSE failed END;
  idle := again <> '{}' AND 'open' NOT IN (a.working_memory, a.long_term_memory, a.embedding);
  UPDATE cairn.archives
     SET working_memory   = CASE WHEN 'working_memory'   = ANY (again) THEN 'open' WHEN covered THEN 'covered' ELSE working_memory END,
         long_term_memory = CASE WHEN 'long_term_memory' = ANY (again) THEN 'open' ELSE long_term_memory END,
         embedding        = CASE WHEN 'embedding'        = ANY (again) THEN 'open' ELSE embedding END,
         started_at       = CASE WHEN idle THEN NULL ELSE started_at END,      -- pending until a worker begins
         finished_at      = CASE WHEN again = '{}' THEN finished_at END
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive;
  IF covered THEN
    UPDATE cairn.jobs SET state = 'done', outcome = 'covered'
     WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive AND kind = 'working_memory'
       AND state IN ('failed', 'cancelled');
  END IF;
  PERFORM cairn.requeue_steps(p_account, p_session, p_archive, again, p_more);
  PERFORM pg_notify('cairn_tasks', a.task_id::text);
  RETURN again;
END $$;

-- Leave a failed or cancelled archive out of contexts and prompts, on purpose and for good. What its other steps wrote
-- stays. Returns the steps that were given up.
-- Errors: CA404 no such archive; CA417 it has not failed; CA423 a later update is taking it in now.
CREATE FUNCTION cairn.discard_archive(p_account bigint, p_session bigint, p_archive int) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE a cairn.archives; failed text[];
BEGIN
  SELECT * INTO a FROM cairn.archives
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive FOR NO KEY UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'archive not found' USING ERRCODE = 'CA404'; END IF;
  IF a.status NOT IN ('failed', 'cancelled') THEN RAISE EXCEPTION 'nothing to discard' USING ERRCODE = 'CA417'; END IF;
  failed := array_remove(cairn.failed_steps(a), 'embedding');
  PERFORM cairn.lock_lanes(p_account, 'ltm:' || p_session, 'wm:' || p_session);
  IF 'working_memory' = ANY (failed) THEN
    -- a claim may be taking the ready job of the lane right now: wait for it, then look whether one is running
    PERFORM FROM cairn.jobs WHERE account_id = p_account AND order_key = 'wm:' || p_session AND state = 'ready' FOR UPDATE;
    IF EXISTS (SELECT FROM cairn.jobs WHERE account_id = p_account AND order_key = 'wm:' || p_session AND state = 'running'
                  AND archive_no > p_archive) THEN
      RAISE EXCEPTION 'a later update is taking it in' USING ERRCODE = 'CA423';
    END IF;
  END IF;
  UPDATE cairn.archives
     SET working_memory   = CASE WHEN 'working_memory'   = ANY (failed) THEN 'discarded' ELSE working_memory END,
         long_term_memory = CASE WHEN 'long_term_memory' = ANY (failed) THEN 'discarded' ELSE long_term_memory END,
         finished_at = clock_timestamp()
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive;
  UPDATE cairn.jobs SET outcome = 'discarded'
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive AND kind = ANY (failed);
  PERFORM pg_notify('cairn_tasks', a.task_id::text);
  RETURN failed;
END $$;

-- Give an open step without a living job a job again. false = it had one after all, or has ended.
CREATE FUNCTION cairn.revive_step(p_account bigint, p_session bigint, p_archive int, p_step text, p_more int) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE a cairn.archives;
BEGIN
  SELECT * INTO a FROM cairn.archives
   WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive FOR NO KEY UPDATE;
  IF NOT FOUND OR (CASE p_step WHEN 'working_memory' THEN a.working_memory WHEN 'long_term_memory' THEN a.long_term_memory
                               ELSE a.embedding END) <> 'open' THEN RETURN false; END IF;
  PERFORM cairn.lock_lanes(p_account, 'ltm:' || p_session, 'wm:' || p_session);
  IF EXISTS (SELECT FROM cairn.jobs WHERE account_id = p_account AND session_id = p_session AND archive_no = p_archive
                AND kind = p_step AND state IN ('waiting', 'ready', 'running')) THEN RETURN false; END IF;
  PERFORM cairn.requeue_steps(p_account, p_session, p_archive, ARRAY[p_step], p_more);
  RETURN true;
END $$;
