-- What a commit by turns would archive: a prefix, up to `cut`. One rule for the commit, for pending_tokens and its recount.
--
--   turn    a person's message (the anchor) and everything up to the next one
--   step    one message of the assistant and the tool results after it
-- The newest p_turns turns stay; while more than one is left and their sum exceeds the budget, the oldest of them goes.
-- A newest turn that is too large alone keeps its anchor and its newest steps: p_min_tail of them whatever they cost,
-- more while they fit the budget less a reserve. Its anchor is then in the archive like all before the cut, and shown
-- again from sessions.anchor_seq. Without an anchor such a turn is archived whole.
--
-- Walks from the newest message back and stops when it knows, so it reads about a budget's worth of messages and never
-- the history. p_last_* and p_sealed_* are as stored; p_tokens and p_opens are messages that the caller is about to add.
CREATE FUNCTION cairn.plan_turns(
    p_account bigint, p_session bigint, p_turns int, p_budget int, p_min_tail int, p_sealed_seq bigint, p_sealed_tokens bigint,
    p_anchor bigint, p_last_seq bigint, p_last_tokens bigint, p_last_user_seq bigint, p_tokens int[], p_opens text[],
    OUT cut bigint, OUT anchor bigint, OUT active_tokens bigint, OUT pending_tokens bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  stored        CURSOR FOR
                SELECT m.seq, m.opens, m.tokens FROM cairn.messages m
                 WHERE m.account_id = p_account AND m.session_id = p_session AND m.seq > p_sealed_seq
                   AND m.seq <= p_last_seq ORDER BY m.seq DESC;
  fresh         int := coalesce(cardinality(p_tokens), 0);
  top           bigint := p_last_seq + coalesce(cardinality(p_tokens), 0);
  live          bigint := p_last_tokens - p_sealed_tokens;
  begins        bigint := greatest(p_last_user_seq, p_sealed_seq);   -- the newest turn: its anchor, or the end of the archives
  anchored      bigint := CASE WHEN p_last_user_seq > p_sealed_seq THEN p_last_user_seq ELSE p_anchor END;
  anchor_tokens bigint := 0;
  m             record;
  sum_          bigint := 0;      -- tokens from m to the end
  turns         int := 0;
  steps         int := 0;
  tail_seq      bigint;           -- first message of the newest steps that stay when the newest turn is too large
  tail_tokens   bigint := 0;
  tail_closed   boolean := false;
  too_large     boolean := false;
  opened        boolean := false; -- m opens a turn
  kept          bigint := 0;
BEGIN
  SELECT live + coalesce(sum(n), 0) INTO live FROM unnest(p_tokens) n;
  cut := top;
  IF p_turns = 0 OR top = p_sealed_seq THEN
    active_tokens := 0; pending_tokens := live; RETURN;
  END IF;
  IF anchored > p_last_seq THEN
    anchor_tokens := p_tokens[anchored - p_last_seq];
  ELSIF anchored IS NOT NULL THEN
    SELECT a.tokens INTO anchor_tokens FROM cairn.messages a
     WHERE a.account_id = p_account AND a.session_id = p_session AND a.seq = anchored;
  END IF;
  OPEN stored;
  LOOP
    IF fresh > 0 THEN
      SELECT p_last_seq + fresh AS seq, p_opens[fresh] AS opens, p_tokens[fresh] AS tokens INTO m;
      fresh := fresh - 1;
    ELSE
      FETCH stored INTO m;
      EXIT WHEN NOT FOUND;
    END IF;
    sum_ := sum_ + m.tokens;
    opened := coalesce(m.opens = 'turn', false);
    IF m.seq > begins THEN                                  -- inside the newest turn
      IF NOT tail_closed AND (m.opens IS NOT NULL OR m.seq = begins + 1) THEN
        steps := steps + 1;
        IF steps <= greatest(1, p_min_tail) OR anchor_tokens + sum_ <= p_budget - least(1024, p_budget / 4) THEN
          tail_seq := m.seq; tail_tokens := sum_;
        ELSE
          tail_closed := true;
        END IF;
      END IF;
      too_large := anchor_tokens + sum_ > p_budget;
      EXIT WHEN too_large AND (tail_closed OR anchored IS NULL);
    ELSIF m.seq = begins THEN                               -- its anchor
      too_large := sum_ > p_budget;
      EXIT WHEN too_large;
      turns := 1; cut := m.seq - 1; kept := sum_;
      EXIT WHEN turns = p_turns;
    ELSE                                                    -- an older turn
      EXIT WHEN sum_ > p_budget;
      IF opened THEN
        turns := turns + 1; cut := m.seq - 1; kept := sum_;
        EXIT WHEN turns = p_turns;
      END IF;
    END IF;
  END LOOP;
  CLOSE stored;
  IF too_large THEN
    IF anchored IS NULL THEN
      cut := top; kept := 0;
    ELSIF tail_seq IS NULL OR tail_seq = begins + 1 THEN    -- nothing of it goes
      cut := greatest(begins - 1, p_sealed_seq); kept := tail_tokens;
      IF anchored > p_sealed_seq THEN kept := kept + anchor_tokens; ELSE anchor := anchored; END IF;
    ELSE
      cut := tail_seq - 1; kept := tail_tokens; anchor := anchored;
    END IF;
  ELSIF m.seq IS NULL AND NOT opened THEN                    -- all was read: a stretch without its anchor stands first
    IF turns = 0 THEN
      cut := p_sealed_seq; kept := sum_; anchor := p_anchor;
    ELSIF turns < p_turns THEN
      IF p_anchor IS NOT NULL THEN
        SELECT a.tokens INTO anchor_tokens FROM cairn.messages a
         WHERE a.account_id = p_account AND a.session_id = p_session AND a.seq = p_anchor;
      ELSE
        anchor_tokens := 0;
      END IF;
      IF sum_ + anchor_tokens <= p_budget THEN
        cut := p_sealed_seq; kept := sum_; anchor := p_anchor;
      END IF;
    END IF;
  END IF;
  active_tokens := kept + CASE WHEN anchor IS NULL THEN 0 ELSE anchor_tokens END;
  pending_tokens := live - kept - CASE WHEN anchor > p_sealed_seq THEN anchor_tokens ELSE 0 END;
END $$;

-- The person's message whose turn goes on behind a cut; NULL where a new turn begins there, nothing does, or it was let go.
CREATE FUNCTION cairn.anchor_before(
    p_account bigint, p_session bigint, p_cut bigint, p_sealed_seq bigint, p_last_seq bigint, p_last_user_seq bigint,
    p_anchor bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE found bigint;
BEGIN
  IF p_cut >= p_last_seq OR EXISTS (SELECT FROM cairn.messages m WHERE m.account_id = p_account AND m.session_id = p_session
                                       AND m.seq = p_cut + 1 AND m.opens = 'turn') THEN
    RETURN NULL;
  END IF;
  IF p_last_user_seq <= p_sealed_seq THEN
    RETURN p_anchor;
  ELSIF p_last_user_seq <= p_cut THEN
    RETURN p_last_user_seq;
  END IF;
  -- the cut was moved into an older turn for the sake of a tool call
  SELECT m.seq INTO found FROM cairn.messages m
   WHERE m.account_id = p_account AND m.session_id = p_session AND m.seq > p_sealed_seq AND m.seq <= p_cut
     AND m.opens = 'turn' ORDER BY m.seq DESC LIMIT 1;
  RETURN coalesce(found, p_anchor);
END $$;
