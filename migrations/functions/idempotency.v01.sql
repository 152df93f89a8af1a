-- What was answered to a request with this key, and the turn of whoever asks: until the end of the transaction nobody else
-- acts under the same key. An answer that has expired is forgotten here, so that the key can be used again.
-- Taken before any row lock. No row came back: route is NULL.
CREATE FUNCTION cairn.recall_reply(p_account bigint, p_user bigint, p_key text,
                                   OUT route text, OUT body_sha256 bytea, OUT reply text)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('once:' || p_user || ':' || p_key, p_account));
  DELETE FROM cairn.idempotency_keys k
   WHERE k.account_id = p_account AND k.user_id = p_user AND k.key = p_key AND k.expires_at <= clock_timestamp();
  -- a statement of its own: its snapshot is younger than the wait
  SELECT k.route, k.body_sha256, k.reply::text INTO recall_reply.route, recall_reply.body_sha256, recall_reply.reply
    FROM cairn.idempotency_keys k WHERE k.account_id = p_account AND k.user_id = p_user AND k.key = p_key;
END $$;
