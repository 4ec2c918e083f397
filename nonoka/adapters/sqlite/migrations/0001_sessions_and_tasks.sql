-- The store as of nonoka 2.0. Times are ms UTC, but for lease_expires_at: ms on the kernel's monotonic clock.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- A row a session: its state without conversation and step rows.
CREATE TABLE checkpoints (
    session_id TEXT PRIMARY KEY,
    status     TEXT NOT NULL CHECK (status IN ('created', 'running', 'paused', 'completed', 'failed', 'cancelled')),
    version    INTEGER NOT NULL CHECK (version >= 1),
    state_json TEXT NOT NULL CHECK (json_valid(state_json))
) STRICT;

-- Only what has not ended: the sweeper looks here for sessions without a task.
CREATE INDEX checkpoints_unended ON checkpoints (session_id) WHERE status IN ('created', 'running');

-- The index that people look at.
CREATE TABLE cli_sessions (
    session_id  TEXT PRIMARY KEY REFERENCES checkpoints ON DELETE CASCADE,
    kind        TEXT NOT NULL CHECK (kind IN ('react', 'plan')),
    title       TEXT NOT NULL,
    working_dir TEXT NOT NULL,
    agent       TEXT NOT NULL,
    model       TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    last_active INTEGER NOT NULL,
    parent      TEXT,
    metadata    TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata))
) STRICT;

CREATE INDEX cli_sessions_newest ON cli_sessions (created_at DESC, session_id);
CREATE INDEX cli_sessions_conversation_key ON cli_sessions (json_extract(metadata, '$.conversation_key'));

-- The conversation, append-only. Not WITHOUT ROWID: there a row beyond a quarter of a page takes pages of its own,
-- and a turn of 1 KB took 11 KB of file (measured) instead of 5.
CREATE TABLE memory_entries (
    session_id TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    position   INTEGER NOT NULL CHECK (position >= 0),
    role       TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool')),
    content    TEXT NOT NULL,
    metadata   TEXT NOT NULL CHECK (json_valid(metadata)),
    tokens     INTEGER NOT NULL CHECK (tokens >= 0),
    PRIMARY KEY (session_id, position)
) STRICT;

-- Progress inside a task. seq is the store's own counter: a newer row always has a higher one.
CREATE TABLE step_updates (
    seq          INTEGER PRIMARY KEY,
    session_id   TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    step_id      TEXT NOT NULL,
    update_type  TEXT NOT NULL CHECK (update_type IN ('status', 'result', 'error')),
    payload_json TEXT NOT NULL CHECK (json_valid(payload_json)),
    UNIQUE (session_id, step_id, update_type)
) STRICT;

CREATE TABLE tasks (
    task_id          TEXT PRIMARY KEY,
    session_id       TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    kind             TEXT NOT NULL CHECK (kind IN ('turn', 'step')),
    key              TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('ready', 'running', 'waiting', 'done', 'dead')),
    waits_for        TEXT,
    not_before       INTEGER NOT NULL DEFAULT 0,
    attempt          INTEGER NOT NULL DEFAULT 0,
    retries          INTEGER NOT NULL DEFAULT 0,
    deaths           INTEGER NOT NULL DEFAULT 0,
    fence            INTEGER NOT NULL DEFAULT 0,
    lease_owner      TEXT,
    lease_expires_at INTEGER,
    sent_at          INTEGER,
    sends            INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session_id, key),
    CHECK ((status = 'waiting') = (waits_for IS NOT NULL)),
    CHECK ((status = 'running') = (lease_owner IS NOT NULL)),
    CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL))
) STRICT;

CREATE INDEX tasks_ready ON tasks (not_before) WHERE status = 'ready';
CREATE INDEX tasks_running ON tasks (lease_owner) WHERE status = 'running';
CREATE INDEX tasks_live ON tasks (session_id) WHERE status IN ('ready', 'running', 'waiting');

-- A session's inbox.
CREATE TABLE signals (
    session_id   TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    seq          INTEGER NOT NULL CHECK (seq >= 1),
    kind         TEXT NOT NULL,
    payload_json TEXT NOT NULL CHECK (json_valid(payload_json)),
    created_at   INTEGER NOT NULL,
    drained_at   INTEGER,
    PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX signals_undrained ON signals (session_id, seq) WHERE drained_at IS NULL;

-- The timeline. Not WITHOUT ROWID, as the conversation isn't.
CREATE TABLE events (
    session_id TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    seq        INTEGER NOT NULL CHECK (seq >= 1),
    at         INTEGER NOT NULL,
    type       TEXT NOT NULL,
    data_json  TEXT NOT NULL CHECK (json_valid(data_json)),
    PRIMARY KEY (session_id, seq)
) STRICT;

-- Who lives.
CREATE TABLE workers (
    worker_id     TEXT PRIMARY KEY,
    kind          TEXT NOT NULL CHECK (kind IN ('worker', 'run', 'sweep', 'embedded')),
    pid           INTEGER NOT NULL,
    pid_started   INTEGER NOT NULL,
    boot_id       TEXT NOT NULL,
    pid_namespace TEXT NOT NULL,
    uid           INTEGER NOT NULL,
    lock_path     TEXT NOT NULL,
    lock_inode    INTEGER NOT NULL,
    started_at    INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL
) STRICT;

-- Which session may change which workspace.
CREATE TABLE workspace_locks (
    workspace  TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    step_id    TEXT NOT NULL,
    taken_at   INTEGER NOT NULL
) STRICT;
