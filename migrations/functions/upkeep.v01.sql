-- Upkeep over all tenants: definer functions, each as narrow as its one purpose.

-- Steps that are open although no job works on them. A seal and an end write both in one transaction, so there should be
-- none; whoever finds one gives it a job again, as its tenant.
CREATE FUNCTION cairn.orphaned_steps(p_limit int)
RETURNS TABLE (account_id bigint, session_id bigint, archive_no int, step text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.account_id, a.session_id, a.archive_no, v.step
    FROM cairn.archives a
    CROSS JOIN LATERAL (VALUES ('working_memory', a.working_memory), ('long_term_memory', a.long_term_memory),
                               ('embedding', a.embedding)) v (step, came_to)
   WHERE a.status IN ('pending', 'running') AND v.came_to = 'open'
     AND NOT EXISTS (SELECT FROM cairn.jobs j WHERE j.account_id = a.account_id AND j.session_id = a.session_id
                        AND j.archive_no = a.archive_no AND j.kind = v.step AND j.state IN ('waiting', 'ready', 'running'))
   LIMIT p_limit
$$;

-- Remove what is past its time, at most p_limit rows of each kind, and say how many. Jobs of steps that can be retried
-- stay however old they are.
CREATE FUNCTION cairn.forget_old_rows(p_jobs interval, p_answers interval, p_limit int,
                                      OUT replies bigint, OUT jobs bigint, OUT answers bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  replies := 0; jobs := 0; answers := 0;
  IF NOT pg_try_advisory_xact_lock(hashtextextended('cairn upkeep', 0)) THEN RETURN; END IF;   -- another worker is at it
  DELETE FROM cairn.idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM cairn.idempotency_keys k WHERE k.expires_at < clock_timestamp() LIMIT p_limit));
  GET DIAGNOSTICS replies = ROW_COUNT;
  DELETE FROM cairn.jobs WHERE ctid = ANY (ARRAY(
    SELECT j.ctid FROM cairn.jobs j
     WHERE j.created_at < clock_timestamp() - p_jobs AND j.finished_at < clock_timestamp() - p_jobs
       AND (j.state = 'done' OR j.outcome = 'discarded' OR j.archive_no IS NULL)
     LIMIT p_limit));
  GET DIAGNOSTICS jobs = ROW_COUNT;
  DELETE FROM cairn.model_answers WHERE ctid = ANY (ARRAY(
    SELECT m.ctid FROM cairn.model_answers m WHERE m.created_at < clock_timestamp() - p_answers LIMIT p_limit));
  GET DIAGNOSTICS answers = ROW_COUNT;
END $$;
