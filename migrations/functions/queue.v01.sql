-- The queue. Lock order everywhere: user, session, archives by number, lanes in sorted order, job rows.
-- A job row of a lane is written under the lane's lock; only the claim and the reaper do without: they skip what is locked.

-- Lock lanes (one per order_key) until the end of the transaction.
CREATE FUNCTION cairn.lock_lanes(p_account bigint, VARIADIC p_order_keys text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE k text;
BEGIN
  FOR k IN SELECT DISTINCT u FROM unnest(p_order_keys) u WHERE u IS NOT NULL ORDER BY u LOOP
    PERFORM pg_advisory_xact_lock(hashtextextended(k, p_account));
  END LOOP;
END $$;

-- Make the head of an order_key ready. Called at the end of every transaction that adds, ends, retries or cancels an
-- ordered job; the lane lock makes "is one running?" and "who is next?" one decision. Wakes the workers.
CREATE FUNCTION cairn.promote_lane(p_account bigint, p_order_key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE head bigint;
BEGIN
  IF p_order_key IS NULL THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(p_order_key, p_account));
  -- a claim may be taking the ready one right now: wait for it, then look again
  PERFORM FROM cairn.jobs WHERE account_id = p_account AND order_key = p_order_key AND state = 'ready' FOR UPDATE;
  IF EXISTS (SELECT FROM cairn.jobs WHERE account_id = p_account AND order_key = p_order_key AND state = 'running') THEN
    RETURN;
  END IF;
  SELECT id INTO head FROM cairn.jobs
   WHERE account_id = p_account AND order_key = p_order_key AND state IN ('waiting', 'ready') ORDER BY id LIMIT 1;
  IF head IS NULL THEN RETURN; END IF;
  UPDATE cairn.jobs SET state = 'waiting'
   WHERE account_id = p_account AND order_key = p_order_key AND state = 'ready' AND id <> head;
  -- to the end of the ready queue: sessions take turns, a long backlog never holds more than its one place
  UPDATE cairn.jobs SET state = 'ready', run_at = greatest(run_at, clock_timestamp())
   WHERE account_id = p_account AND id = head AND state = 'waiting';
  PERFORM pg_notify('cairn_jobs', '');
END $$;

-- Add a job in the caller's transaction and return its id.
CREATE FUNCTION cairn.enqueue_job(
    p_account bigint, p_kind text, p_user bigint, p_session bigint, p_archive int, p_order_key text, p_mutex_key text,
    p_max_attempts int, p_payload jsonb DEFAULT '{}') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE job bigint;
BEGIN
  INSERT INTO cairn.jobs (account_id, kind, user_id, session_id, archive_no, order_key, mutex_key, max_attempts, payload, state)
  VALUES (p_account, p_kind, p_user, p_session, p_archive, p_order_key, p_mutex_key, p_max_attempts, p_payload,
          CASE WHEN p_order_key IS NULL THEN 'ready' ELSE 'waiting' END)
  RETURNING id INTO job;
  IF p_order_key IS NULL THEN PERFORM pg_notify('cairn_jobs', ''); ELSE PERFORM cairn.promote_lane(p_account, p_order_key); END IF;
  RETURN job;
END $$;

-- Claim up to p_limit due jobs, across tenants: a definer function of a role with a policy of its own. Never waits:
-- locked rows are skipped, and so is a mutex that another claim is just taking; the unique index is the net.
CREATE FUNCTION cairn.claim_jobs(p_worker text, p_kinds text[], p_limit int, p_lease interval) RETURNS SETOF cairn.jobs
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE j cairn.jobs; k text; misses int := 0; got int := 0; before int;
BEGIN
  LOOP
    before := got + misses;
    FOREACH k IN ARRAY p_kinds LOOP        -- kinds take turns; one kind's backlog is never scanned for another
      EXIT WHEN got >= p_limit;
      BEGIN
        UPDATE cairn.jobs u SET state = 'running', attempts = u.attempts + 1, epoch = u.epoch + 1, worker = p_worker,
               started_at = coalesce(u.started_at, clock_timestamp()), lease_until = clock_timestamp() + p_lease
          FROM (SELECT c.account_id, c.id FROM cairn.jobs c
                 WHERE c.state = 'ready' AND c.kind = k AND c.run_at <= clock_timestamp()
                   AND CASE WHEN c.mutex_key IS NULL THEN true
                            WHEN EXISTS (SELECT FROM cairn.jobs r WHERE r.account_id = c.account_id
                                            AND r.mutex_key = c.mutex_key AND r.state = 'running') THEN false
                            ELSE pg_try_advisory_xact_lock(hashtextextended(c.mutex_key, c.account_id)) END
                 ORDER BY c.run_at, c.id LIMIT 1 FOR UPDATE SKIP LOCKED) pick
         WHERE u.account_id = pick.account_id AND u.id = pick.id
        RETURNING u.* INTO j;
        IF FOUND THEN got := got + 1; RETURN NEXT j; END IF;
      EXCEPTION WHEN unique_violation THEN misses := misses + 1;
      END;
    END LOOP;
    EXIT WHEN got >= p_limit OR misses >= 3 OR got + misses = before;
  END LOOP;
END $$;

-- Heartbeat: returns the jobs still held. One that does not come back was taken away; cancel_asked says stop.
CREATE FUNCTION cairn.heartbeat_jobs(p_worker text, p_accounts bigint[], p_jobs bigint[], p_epochs int[], p_lease interval)
RETURNS TABLE (account_id bigint, id bigint, epoch int, cancel_asked boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE cairn.jobs j SET lease_until = clock_timestamp() + p_lease
    FROM unnest(p_accounts, p_jobs, p_epochs) h(account_id, id, epoch)
   WHERE j.account_id = h.account_id AND j.id = h.id AND j.epoch = h.epoch AND j.worker = p_worker AND j.state = 'running'
  RETURNING j.account_id, j.id, j.epoch, j.cancel_asked
$$;

-- Reaper: an expired lease gives the job back; it stays the head of its order. The attempt counts, so a job that kills
-- its workers ends. A job with no attempt left, or that was asked to stop, stays running under the reaper's name: the
-- caller ends it by finish_step, which also tells the archive.
CREATE FUNCTION cairn.reap_jobs(p_reaper text, p_backoff interval) RETURNS SETOF cairn.jobs
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE cairn.jobs j
     SET state       = CASE WHEN r.ends THEN 'running' ELSE 'ready' END,
         worker      = CASE WHEN r.ends THEN p_reaper END,
         lease_until = CASE WHEN r.ends THEN clock_timestamp() + interval '1 minute' END,
         epoch = j.epoch + 1, run_at = clock_timestamp() + p_backoff, error_class = 'lease_expired'
    FROM (SELECT e.account_id, e.id, e.attempts >= e.max_attempts OR e.cancel_asked AS ends FROM cairn.jobs e
           WHERE e.state = 'running' AND e.lease_until < clock_timestamp() FOR UPDATE SKIP LOCKED) r
   WHERE j.account_id = r.account_id AND j.id = r.id
  RETURNING j.*
$$;
