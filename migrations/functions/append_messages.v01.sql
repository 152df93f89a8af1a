-- Append messages to a session. One statement, one round trip; exact for any keep_recent_count and any number of writers.
--
-- Why a function: in READ COMMITTED a single statement keeps the snapshot from before it waited for the row lock, so the
-- message that just slid out of the window may be invisible to it. In a VOLATILE function every statement looks anew.
--
-- SECURITY INVOKER: it sets the account first and then lives under the caller's row-level security.
-- Where the session has a policy for committing itself, the last five columns say what that needs to know; else NULL.
-- Errors: CA404 no such session (p_create = false); CA409 a client_message_id was used with another body.
CREATE FUNCTION cairn.append_messages(
    p_account bigint, p_user bigint, p_session_name text, p_create boolean,
    p_roles text[], p_parts jsonb[], p_tokens int[], p_opens text[],   -- opens: 'turn', 'step' or NULL
    p_peers text[], p_origins text[], p_said timestamptz[], p_attributes jsonb[],      -- NULL where no message has one
    p_client_ids text[], p_hashes bytea[],                                             -- NULL where no message has an id
    p_tool_at int[], p_tool_ids text[], p_tool_results boolean[],                      -- tool parts by message position
    p_message_ids uuid[],                                                              -- NULL: made here
    p_policy jsonb,                                                                    -- of a session that is made here
    p_aside jsonb DEFAULT NULL, p_aside_texts text[] DEFAULT NULL,   -- large texts of tools and what is known of each
    OUT session_id bigint, OUT seqs bigint[], OUT added int, OUT live_count bigint, OUT pending_tokens bigint,
    OUT auto_commit_policy jsonb, OUT outside_window bigint, OUT last_auto_commit_at timestamptz, OUT work_open boolean,
    OUT by_turns boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  other_body CONSTANT text := 'client_message_id used with another body';
  s         record;
  n         int := cardinality(p_tokens);
  known     record;
  newest    bigint := 0;         -- newest message of which a repeat was sent
  twin      int;                 -- where the same id stands first in the batch
  fresh     int[];               -- positions that are new; NULL = all of them
  top       bigint;              -- last_seq afterwards
  total     bigint := 0;
  leaving   bigint := 0;         -- tokens of new messages that are outside the window at once
  edge      bigint;              -- newest message outside the window
  plan      record;              -- the same in a session that keeps whole turns
  spoke     bigint := 0;         -- newest new message in which a person spoke
  at        timestamptz;
  i         int;
BEGIN
  PERFORM set_config('cairn.account_id', p_account::text, true);
  FOR attempt IN 1..3 LOOP       -- loops only while others create or delete this very session
    SELECT t.id, t.last_seq, t.last_tokens, t.last_user_seq, t.sealed_seq, t.sealed_tokens, t.keep_recent_count,
           t.pending_tokens, t.last_message_at, t.anchor_seq, t.retention_mode, t.keep_recent_turn_count,
           t.retained_message_token_budget, t.min_raw_tail_steps, t.auto_commit_policy, t.last_auto_commit_at INTO s
      FROM cairn.sessions t WHERE t.account_id = p_account AND t.user_id = p_user AND t.name = p_session_name
      FOR NO KEY UPDATE;
    EXIT WHEN FOUND OR NOT p_create;
    INSERT INTO cairn.sessions (account_id, user_id, name, auto_commit_policy)
    VALUES (p_account, p_user, p_session_name, p_policy) ON CONFLICT DO NOTHING;
  END LOOP;
  IF s.id IS NULL THEN RAISE EXCEPTION 'session not found' USING ERRCODE = 'CA404'; END IF;
  session_id := s.id;
  IF n = 0 THEN
    seqs := '{}'; added := 0; live_count := s.last_seq - s.sealed_seq; pending_tokens := s.pending_tokens; RETURN;
  END IF;

  IF p_client_ids IS NOT NULL THEN     -- every writer waits for the row lock, so "look, then insert" is exact
    seqs := array_fill(NULL::bigint, ARRAY[n]); fresh := '{}';
    FOR g IN 1..n LOOP                 -- one look per id: for all at once a generic plan would read the whole session
      twin := array_position(p_client_ids, p_client_ids[g]);
      IF p_client_ids[g] IS NULL THEN
        fresh := fresh || g;
      ELSIF twin < g THEN              -- it stands twice in this very batch
        IF p_hashes[g] <> p_hashes[twin] THEN RAISE EXCEPTION '%', other_body USING ERRCODE = 'CA409'; END IF;
        seqs[g] := seqs[twin];
      ELSE
        SELECT m.seq, m.body_sha256, m.reply_live, m.reply_pending INTO known FROM cairn.messages m
         WHERE m.account_id = p_account AND m.session_id = s.id AND m.client_message_id = p_client_ids[g];
        IF NOT FOUND THEN
          fresh := fresh || g;
        ELSIF known.body_sha256 <> p_hashes[g] THEN
          RAISE EXCEPTION '%', other_body USING ERRCODE = 'CA409';
        ELSE
          seqs[g] := known.seq;
          IF known.seq > newest THEN
            newest := known.seq; live_count := known.reply_live; pending_tokens := known.reply_pending;
          END IF;
        END IF;
      END IF;
    END LOOP;
    IF fresh = '{}' THEN added := 0; RETURN; END IF;   -- a pure repeat: nothing is written, the first reply is given again
    IF cardinality(fresh) = n THEN fresh := NULL; END IF;
  END IF;

  added := CASE WHEN fresh IS NULL THEN n ELSE cardinality(fresh) END;
  top := s.last_seq + added;
  edge := top - s.keep_recent_count;
  FOR k IN 1..added LOOP
    i := CASE WHEN fresh IS NULL THEN k ELSE fresh[k] END;
    total := total + p_tokens[i];
    IF s.last_seq + k = edge THEN leaving := total; END IF;
    IF p_opens[i] = 'turn' THEN spoke := s.last_seq + k; END IF;
  END LOOP;
  IF s.retention_mode = 'turn_budget' THEN
    SELECT * INTO plan FROM cairn.plan_turns(
      p_account, s.id, s.keep_recent_turn_count, s.retained_message_token_budget, s.min_raw_tail_steps, s.sealed_seq,
      s.sealed_tokens, s.anchor_seq, s.last_seq, s.last_tokens, greatest(s.last_user_seq, spoke),
      ARRAY(SELECT p_tokens[g] FROM generate_subscripts(p_tokens, 1) g WHERE fresh IS NULL OR g = ANY (fresh) ORDER BY g),
      ARRAY(SELECT p_opens[g] FROM generate_subscripts(p_tokens, 1) g WHERE fresh IS NULL OR g = ANY (fresh) ORDER BY g));
    edge := plan.cut; pending_tokens := plan.pending_tokens;
  ELSIF edge <= s.sealed_seq THEN
    pending_tokens := 0;
  ELSIF edge > s.last_seq THEN
    pending_tokens := s.last_tokens + leaving - s.sealed_tokens;
  ELSE
    SELECT m.tokens_through - s.sealed_tokens INTO STRICT pending_tokens FROM cairn.messages m
     WHERE m.account_id = p_account AND m.session_id = s.id AND m.seq = edge;
  END IF;
  live_count := top - s.sealed_seq;
  IF s.auto_commit_policy IS NOT NULL THEN
    auto_commit_policy := s.auto_commit_policy; last_auto_commit_at := s.last_auto_commit_at;
    outside_window := greatest(edge - s.sealed_seq, 0); by_turns := s.retention_mode = 'turn_budget';
    work_open := EXISTS (SELECT FROM cairn.archives a WHERE a.account_id = p_account AND a.session_id = s.id
                                  AND a.status IN ('pending', 'running'));
  END IF;
  at := greatest(clock_timestamp(), s.last_message_at);     -- now() is from before the wait for the lock

  IF added = 1 AND fresh IS NULL THEN
    INSERT INTO cairn.messages (account_id, session_id, seq, message_id, role, opens, peer_id, origin, parts, attributes, tokens,
                                tokens_through, client_message_id, body_sha256, reply_live, reply_pending, said_at, stored_at)
    VALUES (p_account, s.id, top, coalesce(p_message_ids[1], gen_random_uuid()), p_roles[1], p_opens[1], p_peers[1], coalesce(p_origins[1], 'client'), p_parts[1],
            p_attributes[1], p_tokens[1], s.last_tokens + total, p_client_ids[1], p_hashes[1], live_count, pending_tokens,
            coalesce(p_said[1], at), at);
    seqs := ARRAY[top];
  ELSE
    INSERT INTO cairn.messages (account_id, session_id, seq, message_id, role, opens, peer_id, origin, parts, attributes, tokens,
                                tokens_through, client_message_id, body_sha256, reply_live, reply_pending, said_at, stored_at)
    SELECT p_account, s.id, s.last_seq + row_number() OVER w, coalesce(p_message_ids[g], gen_random_uuid()), p_roles[g], p_opens[g], p_peers[g],
           coalesce(p_origins[g], 'client'), p_parts[g], p_attributes[g], p_tokens[g], s.last_tokens + sum(p_tokens[g]) OVER w, p_client_ids[g], p_hashes[g],
           live_count, pending_tokens, coalesce(p_said[g], at), at
      FROM generate_subscripts(p_tokens, 1) g WHERE fresh IS NULL OR g = ANY (fresh) WINDOW w AS (ORDER BY g);
    IF fresh IS NULL THEN
      SELECT array_agg(q) INTO seqs FROM generate_series(s.last_seq + 1, top) q;
    ELSE                               -- a batch of old, new and repeated: each position answers with its own seq
      FOR k IN 1..added LOOP seqs[fresh[k]] := s.last_seq + k; END LOOP;
      FOR g IN 1..n LOOP seqs[g] := coalesce(seqs[g], seqs[array_position(p_client_ids, p_client_ids[g])]); END LOOP;
    END IF;
  END IF;

  IF p_tool_ids IS NOT NULL THEN
    FOR k IN 1..cardinality(p_tool_ids) LOOP
      CONTINUE WHEN fresh IS NOT NULL AND NOT p_tool_at[k] = ANY (fresh);
      IF p_tool_results[k] THEN        -- answers the oldest call of that id that still waits, if there is one
        UPDATE cairn.tool_calls c SET result_seq = seqs[p_tool_at[k]]
         WHERE (c.account_id, c.session_id, c.call_seq, c.tool_id) IN (
                 SELECT o.account_id, o.session_id, o.call_seq, o.tool_id FROM cairn.tool_calls o
                  WHERE o.account_id = p_account AND o.session_id = s.id AND o.tool_id = p_tool_ids[k]
                    AND o.result_seq IS NULL ORDER BY o.call_seq LIMIT 1);
      ELSE
        INSERT INTO cairn.tool_calls (account_id, session_id, call_seq, tool_id)
        VALUES (p_account, s.id, seqs[p_tool_at[k]], p_tool_ids[k]) ON CONFLICT DO NOTHING;
      END IF;
    END LOOP;
  END IF;

  IF p_aside IS NOT NULL THEN          -- a text that the session keeps already has the same id
    INSERT INTO cairn.tool_results (account_id, session_id, tool_result_id, seq, tool_id, tool_name, direction, content,
                                    content_sha256, mime_type, kind, synopsis, chars, preview_chars)
    SELECT p_account, s.id, x.id, seqs[x.at], x.tool_id, x.tool_name, x.direction, p_aside_texts[x.nth],
           decode(x.sha256, 'hex'), x.mime_type, x.kind, x.synopsis, x.chars, x.preview_chars
      FROM jsonb_to_recordset(p_aside) x (nth int, at int, id text, tool_id text, tool_name text, direction text, sha256 text,
                                          mime_type text, kind text, synopsis text, chars int, preview_chars int)
     WHERE fresh IS NULL OR x.at = ANY (fresh)
    ON CONFLICT DO NOTHING;
  END IF;

  UPDATE cairn.sessions t
     SET last_seq = top, last_tokens = s.last_tokens + total, last_user_seq = greatest(t.last_user_seq, spoke),
         pending_tokens = append_messages.pending_tokens, last_message_at = at,
         active_hour = date_trunc('hour', at, 'UTC'), swept = false
   WHERE t.account_id = p_account AND t.id = s.id;
END $$;
COMMENT ON FUNCTION cairn.append_messages IS
  'Appends messages under the session row lock; a repeat of known client ids writes nothing and answers as the first time';
