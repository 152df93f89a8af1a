"""Create archives, working-memory sections, deferred facts, the job queue, model records and idempotency keys.

Phase: expand (the previous release runs unchanged)
"""

from alembic import op

revision = "20261130_1820"
down_revision = "20261130_1810"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_archives()
    _create_working_memory()
    _create_jobs()
    _create_model_records()
    _create_idempotency_keys()


def _create_archives() -> None:
    op.execute("""
        -- An archive is the range first_seq … last_seq of its session; no message is touched when it is made.
        -- Keys alone make one chain without gap or overlap: number n starts right after number n-1 ends.
        -- A document (the working memory after this archive) covers its base document plus everything up to last_seq;
        -- documents are a chain too, and a base is built upon once, so they never fork.
        CREATE TABLE cairn.archives (
          account_id       bigint NOT NULL,
          session_id       bigint NOT NULL,
          archive_no       integer NOT NULL CHECK (archive_no > 0),
          task_id          uuid NOT NULL DEFAULT gen_random_uuid(),
          first_seq        bigint NOT NULL,
          last_seq         bigint NOT NULL,
          tokens           bigint NOT NULL CHECK (tokens >= 0),
          trigger          text NOT NULL CHECK (trigger IN ('request', 'threshold', 'idle', 'import')),
          -- What each step came to. open: a job exists for it. off: not asked for. covered: failed, then a later
          -- document took its messages in. The rest is final, and only the four failures can be opened again.
          working_memory   text NOT NULL DEFAULT 'open' CHECK (working_memory IN
            ('open', 'off', 'applied', 'nothing_to_remember', 'partial', 'covered', 'unusable', 'failed', 'cancelled',
             'discarded')),
          long_term_memory text NOT NULL DEFAULT 'off' CHECK (long_term_memory IN
            ('open', 'off', 'applied', 'nothing_to_remember', 'partial', 'unusable', 'failed', 'cancelled',
             'discarded')),
          embedding        text NOT NULL DEFAULT 'skipped' CHECK (embedding IN
            ('open', 'skipped', 'applied', 'failed', 'cancelled')),
          abstract         text NOT NULL DEFAULT '' CHECK (char_length(abstract) <= 1000),
          extraction_metadata jsonb,
          created_at       timestamptz NOT NULL DEFAULT now(),
          started_at       timestamptz,
          finished_at      timestamptz,
          day              date NOT NULL GENERATED ALWAYS AS ((created_at AT TIME ZONE 'UTC')::date) STORED,
          -- The document chain
          base_archive_no   integer NOT NULL DEFAULT 0,
          covers_from_seq   bigint,
          document_revision integer NOT NULL DEFAULT 0 CHECK (document_revision >= 0),
          document_source   text,
          document_provider text,
          legacy_overview   text,
          has_document      boolean NOT NULL GENERATED ALWAYS AS
            (working_memory IN ('applied', 'nothing_to_remember', 'partial')) STORED,
          -- The state people see is computed from the steps: it cannot be written and cannot disagree.
          status           text NOT NULL GENERATED ALWAYS AS (CASE
            WHEN 'open' IN (working_memory, long_term_memory, embedding)
              THEN CASE WHEN started_at IS NULL AND finished_at IS NULL THEN 'pending' ELSE 'running' END
            WHEN working_memory IN ('failed', 'unusable') OR long_term_memory IN ('failed', 'unusable') THEN 'failed'
            WHEN 'cancelled' IN (working_memory, long_term_memory) THEN 'cancelled'
            WHEN 'discarded' IN (working_memory, long_term_memory) THEN 'discarded'
            ELSE 'completed' END) STORED,
          outcome          text GENERATED ALWAYS AS (CASE
            WHEN 'open' IN (working_memory, long_term_memory, embedding) THEN NULL
            WHEN 'unusable' IN (working_memory, long_term_memory) THEN 'unusable'
            WHEN 'failed' IN (working_memory, long_term_memory) THEN 'failed'
            WHEN 'cancelled' IN (working_memory, long_term_memory) THEN 'cancelled'
            WHEN 'discarded' IN (working_memory, long_term_memory) THEN 'discarded'
            WHEN 'partial' IN (working_memory, long_term_memory) OR embedding IN ('failed', 'cancelled') THEN 'partial'
            WHEN 'applied' IN (working_memory, long_term_memory) THEN 'applied'
            ELSE 'nothing_to_remember' END) STORED,
          -- Chain columns for the foreign keys (NULL for the first of a chain)
          prev_archive_no  integer GENERATED ALWAYS AS (NULLIF(archive_no - 1, 0)) STORED,
          prev_last_seq    bigint GENERATED ALWAYS AS (NULLIF(first_seq - 1, 0)) STORED,
          base_ref         integer GENERATED ALWAYS AS (NULLIF(base_archive_no, 0)) STORED,
          base_last_seq    bigint GENERATED ALWAYS AS (NULLIF(covers_from_seq - 1, 0)) STORED,
          PRIMARY KEY (account_id, session_id, archive_no),
          CONSTRAINT archives_chain UNIQUE (account_id, session_id, archive_no, last_seq),
          FOREIGN KEY (account_id, session_id) REFERENCES cairn.sessions (account_id, id) ON DELETE CASCADE,
          FOREIGN KEY (account_id, session_id, last_seq) REFERENCES cairn.messages (account_id, session_id, seq),
          CONSTRAINT archives_follow_predecessor FOREIGN KEY (account_id, session_id, prev_archive_no, prev_last_seq)
            REFERENCES cairn.archives (account_id, session_id, archive_no, last_seq),
          CONSTRAINT archives_build_on_base FOREIGN KEY (account_id, session_id, base_ref, base_last_seq)
            REFERENCES cairn.archives (account_id, session_id, archive_no, last_seq),
          CHECK (first_seq >= 1 AND last_seq >= first_seq),
          CHECK ((archive_no = 1) = (first_seq = 1)),
          CHECK (base_archive_no >= 0 AND base_archive_no < archive_no),
          CHECK (covers_from_seq <= first_seq),
          CHECK (covers_from_seq IS NULL OR (base_archive_no = 0) = (covers_from_seq = 1)),
          CHECK (legacy_overview IS NULL OR working_memory IN ('applied', 'nothing_to_remember', 'partial')),
          CHECK (working_memory NOT IN ('applied', 'nothing_to_remember', 'partial') OR covers_from_seq IS NOT NULL)
        ) WITH (fillfactor = 80);
        CREATE UNIQUE INDEX archives_task ON cairn.archives (account_id, task_id);
        CREATE UNIQUE INDEX archives_range ON cairn.archives (account_id, session_id, last_seq);
        CREATE UNIQUE INDEX archives_document ON cairn.archives (account_id, session_id, archive_no)
          WHERE has_document;
        CREATE UNIQUE INDEX archives_one_successor ON cairn.archives (account_id, session_id, base_archive_no)
          WHERE has_document;
        CREATE INDEX archives_recent ON cairn.archives (account_id, created_at);
        CREATE INDEX archives_day ON cairn.archives USING brin (day) WITH (pages_per_range = 32);
        CREATE INDEX archives_unfinished ON cairn.archives (account_id, session_id, archive_no)
          WHERE status IN ('pending', 'running', 'failed');
        -- archives.legacy_overview:
        -- an imported overview without any of the seven sections: it stands for the document until the next update
        -- archives.document_source:
        -- how the document came about: update, create, recovered, …: every path leaves its name
    """)


def _create_working_memory() -> None:
    op.execute("""
        CREATE TABLE cairn.working_memory_sections (
          account_id     bigint NOT NULL,
          session_id     bigint NOT NULL,
          archive_no     integer NOT NULL,
          revision       integer NOT NULL DEFAULT 0 CHECK (revision >= 0),
          section        smallint NOT NULL CHECK (section BETWEEN 1 AND 7),
          body           text NOT NULL,
          tokens         integer NOT NULL CHECK (tokens >= 0),
          tokens_before  integer NOT NULL DEFAULT 0 CHECK (tokens_before >= 0),
          bullets        integer NOT NULL CHECK (bullets >= 0),
          bullets_before integer NOT NULL DEFAULT 0 CHECK (bullets_before >= 0),
          requested_op   text NOT NULL,
          applied_op     text NOT NULL,
          guard          text,
          reason         text,
          changed        boolean NOT NULL,
          created_at     timestamptz NOT NULL DEFAULT now(),
          day            date NOT NULL GENERATED ALWAYS AS ((created_at AT TIME ZONE 'UTC')::date) STORED,
          PRIMARY KEY (account_id, session_id, archive_no, revision, section),
          FOREIGN KEY (account_id, session_id, archive_no)
            REFERENCES cairn.archives (account_id, session_id, archive_no) ON DELETE CASCADE
        );
        CREATE INDEX working_memory_sections_day ON cairn.working_memory_sections USING brin (day)
          WITH (pages_per_range = 32);
        -- working_memory_sections:
        -- one section of one document; tokens_before and bullets_before are those of the base, so growth needs no join

        -- A fact that a guard did not admit yet: offered again with the next update, never lost.
        CREATE TABLE cairn.working_memory_deferred (
          account_id  bigint NOT NULL,
          session_id  bigint NOT NULL,
          id          bigint GENERATED BY DEFAULT AS IDENTITY,
          section     smallint NOT NULL CHECK (section BETWEEN 1 AND 7),
          item        text NOT NULL CHECK (item <> ''),
          reason      text NOT NULL,
          archive_no  integer NOT NULL,
          admitted_in integer,
          created_at  timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (account_id, session_id, id),
          FOREIGN KEY (account_id, session_id, archive_no)
            REFERENCES cairn.archives (account_id, session_id, archive_no) ON DELETE CASCADE,
          FOREIGN KEY (account_id, session_id, admitted_in)
            REFERENCES cairn.archives (account_id, session_id, archive_no) ON DELETE CASCADE,
          CHECK (admitted_in >= archive_no)
        );
        CREATE UNIQUE INDEX working_memory_deferred_waiting
          ON cairn.working_memory_deferred (account_id, session_id, section, md5(item)) WHERE admitted_in IS NULL;
        CREATE INDEX working_memory_deferred_archive
          ON cairn.working_memory_deferred (account_id, session_id, archive_no);
        CREATE INDEX working_memory_deferred_admitted
          ON cairn.working_memory_deferred (account_id, session_id, admitted_in);
    """)


def _create_jobs() -> None:
    op.execute("""
        -- One row per piece of work. A step of an archive IS its row here, and a retry is the same row again.
        --   order_key  strict first-in first-out, also across a backoff: 'wm:<session>'; NULL = free
        --   mutex_key  never two at once: 'wm:<session>', 'owner:<user>:<peer>'; NULL = free
        --   state      waiting: not the head of its order_key; ready: may be claimed when run_at has come
        --   epoch      fencing token, +1 at each claim: a worker that lost its lease can no longer finish
        CREATE TABLE cairn.jobs (
          account_id   bigint NOT NULL REFERENCES cairn.accounts (id) ON DELETE CASCADE,
          id           bigint GENERATED BY DEFAULT AS IDENTITY,
          kind         text NOT NULL,
          user_id      bigint,
          session_id   bigint,
          archive_no   integer,
          payload      jsonb NOT NULL DEFAULT '{}',
          order_key    text,
          mutex_key    text,
          state        text NOT NULL CHECK (state IN ('waiting', 'ready', 'running', 'done', 'failed', 'cancelled')),
          run_at       timestamptz NOT NULL DEFAULT now(),
          attempts     integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
          max_attempts integer NOT NULL DEFAULT 5 CHECK (max_attempts > 0),
          epoch        integer NOT NULL DEFAULT 0,
          worker       text,
          lease_until  timestamptz,
          cancel_asked boolean NOT NULL DEFAULT false,
          outcome      text,
          error_class  text,
          error_text   text CHECK (char_length(error_text) <= 2000),
          result       jsonb,
          created_at   timestamptz NOT NULL DEFAULT now(),
          started_at   timestamptz,
          finished_at  timestamptz,
          PRIMARY KEY (account_id, id),
          FOREIGN KEY (account_id, user_id) REFERENCES cairn.users (account_id, id) ON DELETE CASCADE,
          FOREIGN KEY (account_id, session_id) REFERENCES cairn.sessions (account_id, id) ON DELETE CASCADE,
          FOREIGN KEY (account_id, session_id, archive_no)
            REFERENCES cairn.archives (account_id, session_id, archive_no) ON DELETE CASCADE,
          CHECK (archive_no IS NULL OR session_id IS NOT NULL),
          CHECK ((state = 'running') = (lease_until IS NOT NULL)),
          CHECK ((state = 'running') = (worker IS NOT NULL)),
          CHECK (state <> 'waiting' OR order_key IS NOT NULL),
          CHECK ((state IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
        -- Not partial: deleting a session finds its jobs by it. Jobs without an archive do not collide: NULLs differ.
        CREATE UNIQUE INDEX jobs_step ON cairn.jobs (account_id, session_id, archive_no, kind);
        CREATE UNIQUE INDEX jobs_one_head ON cairn.jobs (account_id, order_key)
          WHERE state IN ('ready', 'running') AND order_key IS NOT NULL;
        CREATE UNIQUE INDEX jobs_mutex ON cairn.jobs (account_id, mutex_key)
          WHERE state = 'running' AND mutex_key IS NOT NULL;
        CREATE INDEX jobs_ready ON cairn.jobs (kind, run_at, id) WHERE state = 'ready';
        CREATE INDEX jobs_waiting ON cairn.jobs (account_id, order_key, id) WHERE state IN ('waiting', 'ready');
        CREATE INDEX jobs_running ON cairn.jobs (account_id, id) WHERE state = 'running';
        CREATE INDEX jobs_created ON cairn.jobs USING brin (created_at) WITH (pages_per_range = 32);

        CREATE VIEW cairn.archive_steps WITH (security_invoker = true) AS
          SELECT account_id, session_id, archive_no, kind AS step, state, outcome, attempts, error_class, error_text,
                 created_at, started_at, finished_at
            FROM cairn.jobs WHERE archive_no IS NOT NULL;
    """)


def _create_model_records() -> None:
    op.execute("""
        -- What every call to a model cost. No message text, and no key into the conversation: what was spent stays
        -- known after the conversation is erased.
        CREATE TABLE cairn.model_calls (
          account_id    bigint NOT NULL REFERENCES cairn.accounts (id) ON DELETE CASCADE,
          id            bigint GENERATED BY DEFAULT AS IDENTITY,
          user_id       bigint,
          session_id    bigint,
          archive_no    integer,
          purpose       text NOT NULL,
          provider      text NOT NULL,
          model         text NOT NULL,
          transport     text,
          prompt_digest text,
          input_tokens  integer NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
          output_tokens integer NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
          latency_ms    integer NOT NULL CHECK (latency_ms >= 0),
          outcome       text NOT NULL,
          error_class   text,
          created_at    timestamptz NOT NULL DEFAULT now(),
          day           date NOT NULL GENERATED ALWAYS AS ((created_at AT TIME ZONE 'UTC')::date) STORED,
          PRIMARY KEY (account_id, id)
        ) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
        CREATE INDEX model_calls_session ON cairn.model_calls (account_id, session_id);
        CREATE INDEX model_calls_day ON cairn.model_calls USING brin (day) WITH (pages_per_range = 32);

        -- What a model answered, unread, to the messages first_seq … last_seq: a retry of the apply asks no model, a
        -- long archive goes on after its last answered piece, and a bad answer can be looked at.
        CREATE TABLE cairn.model_answers (
          account_id  bigint NOT NULL,
          session_id  bigint NOT NULL,
          archive_no  integer NOT NULL,
          id          bigint GENERATED BY DEFAULT AS IDENTITY,
          step        text NOT NULL,
          attempt     integer NOT NULL CHECK (attempt > 0),
          first_seq   bigint NOT NULL CHECK (first_seq > 0),
          last_seq    bigint NOT NULL CHECK (last_seq >= first_seq),
          shortened   bigint[] NOT NULL DEFAULT '{}',   -- messages that were shown in part
          provider    text NOT NULL,
          model       text NOT NULL,
          transport   text NOT NULL,
          tool        text NOT NULL,
          tool_called boolean NOT NULL,
          content     text NOT NULL,
          usable      boolean NOT NULL,
          created_at  timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (account_id, session_id, archive_no, id),
          FOREIGN KEY (account_id, session_id, archive_no)
            REFERENCES cairn.archives (account_id, session_id, archive_no) ON DELETE CASCADE
        );
        CREATE INDEX model_answers_created ON cairn.model_answers USING brin (created_at) WITH (pages_per_range = 32);
    """)


def _create_idempotency_keys() -> None:
    op.execute("""
        -- What was answered to a request with an Idempotency-Key, written with what the request did. reply is json and
        -- not jsonb: it is given again byte for byte.
        CREATE TABLE cairn.idempotency_keys (
          account_id  bigint NOT NULL,
          user_id     bigint NOT NULL,
          key         text NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
          route       text NOT NULL,
          body_sha256 bytea NOT NULL CHECK (octet_length(body_sha256) = 32),
          status      smallint NOT NULL DEFAULT 200,
          reply       json NOT NULL,
          created_at  timestamptz NOT NULL DEFAULT now(),
          expires_at  timestamptz NOT NULL DEFAULT now() + interval '24 hours',
          PRIMARY KEY (account_id, user_id, key),
          FOREIGN KEY (account_id, user_id) REFERENCES cairn.users (account_id, id) ON DELETE CASCADE
        ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
        CREATE INDEX idempotency_keys_expiry ON cairn.idempotency_keys (expires_at);
    """)


def downgrade() -> None:
    op.execute("""
        DROP VIEW cairn.archive_steps;
        DROP TABLE cairn.idempotency_keys, cairn.model_answers, cairn.model_calls, cairn.jobs,
                   cairn.working_memory_deferred, cairn.working_memory_sections, cairn.archives;
    """)
