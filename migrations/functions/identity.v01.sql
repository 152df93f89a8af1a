-- Who is asking, before any tenant is known: definer functions of cairn_system, each as narrow as its one purpose.

-- The ids behind an account name and a user name; makes what is missing when p_create. No row: unknown.
CREATE FUNCTION cairn.find_identity(p_account_name text, p_user_name text, p_create boolean,
                                    OUT account_id bigint, OUT user_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  SELECT a.id INTO account_id FROM cairn.accounts a WHERE a.name = p_account_name;
  IF account_id IS NULL AND p_create THEN
    INSERT INTO cairn.accounts (name) VALUES (p_account_name) ON CONFLICT DO NOTHING;
    SELECT a.id INTO account_id FROM cairn.accounts a WHERE a.name = p_account_name;
  END IF;
  SELECT u.id INTO user_id FROM cairn.users u WHERE u.account_id = find_identity.account_id AND u.name = p_user_name;
  IF user_id IS NULL AND account_id IS NOT NULL AND p_create THEN
    INSERT INTO cairn.users (account_id, name) VALUES (account_id, p_user_name) ON CONFLICT DO NOTHING;
    SELECT u.id INTO user_id FROM cairn.users u WHERE u.account_id = find_identity.account_id AND u.name = p_user_name;
  END IF;
END $$;

-- The living key with this hash, and whose it is. last_used_at is kept to the hour.
CREATE FUNCTION cairn.find_key(p_sha256 bytea)
RETURNS TABLE (account_id bigint, account_name text, user_id bigint, user_name text, role text, scopes text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
    SELECT k.account_id, a.name, k.user_id, u.name, u.role, k.scopes
      FROM cairn.api_keys k JOIN cairn.accounts a ON a.id = k.account_id
      JOIN cairn.users u ON u.account_id = k.account_id AND u.id = k.user_id
     WHERE k.key_sha256 = p_sha256 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now());
  UPDATE cairn.api_keys k SET last_used_at = clock_timestamp()
   WHERE k.key_sha256 = p_sha256 AND k.revoked_at IS NULL
     AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 hour');
END $$;

-- Administration by the root key: accounts are not inside any tenant.
CREATE FUNCTION cairn.create_account(p_name text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO cairn.accounts (name) VALUES (p_name) RETURNING id
$$;

CREATE FUNCTION cairn.list_accounts() RETURNS TABLE (id bigint, name text, created_at timestamptz, user_count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.id, a.name, a.created_at, (SELECT count(*) FROM cairn.users u WHERE u.account_id = a.id)
    FROM cairn.accounts a ORDER BY a.name
$$;

CREATE FUNCTION cairn.find_account(p_name text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.id FROM cairn.accounts a WHERE a.name = p_name
$$;

-- What the queue looks like as a whole, for health and metrics: counts only.
CREATE FUNCTION cairn.count_jobs() RETURNS TABLE (kind text, state text, jobs bigint, oldest_due timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT j.kind, j.state, count(*), min(j.run_at) FILTER (WHERE j.state = 'ready') FROM cairn.jobs j
   WHERE j.state IN ('waiting', 'ready', 'running') GROUP BY j.kind, j.state
$$;
