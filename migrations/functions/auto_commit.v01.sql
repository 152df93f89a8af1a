-- Sessions whose policy says that they have been silent long enough, over all tenants: those with live messages, on
-- which no work is open. The caller seals each as its tenant and looks again under its lock.
-- Whoever finds one silent but empty, or sealed by hand meanwhile, marks it with an idle seal too: it is found no more.
CREATE FUNCTION cairn.idle_sessions(p_limit int)
RETURNS TABLE (account_id bigint, account_name text, user_id bigint, user_name text, session_name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.account_id, a.name, s.user_id, u.name, s.name
    FROM cairn.sessions s
    JOIN cairn.accounts a ON a.id = s.account_id
    JOIN cairn.users u ON u.account_id = s.account_id AND u.id = s.user_id
   WHERE s.auto_commit_policy IS NOT NULL AND NOT s.swept AND s.active_hour <= clock_timestamp()
     AND (s.auto_commit_policy ->> 'idle_timeout_seconds')::int > 0
     AND s.last_message_at + make_interval(secs => (s.auto_commit_policy ->> 'idle_timeout_seconds')::int) <= clock_timestamp()
     AND NOT EXISTS (SELECT FROM cairn.archives r WHERE r.account_id = s.account_id AND r.session_id = s.id
                        AND r.status IN ('pending', 'running'))
   ORDER BY s.active_hour LIMIT p_limit
$$;
