-- A workspace lock belongs to the task that took it; the table was empty so far.
DROP TABLE workspace_locks;

-- Which running task may change which workspace.
CREATE TABLE workspace_locks (
    workspace  TEXT PRIMARY KEY,
    task_id    TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
    taken_at   INTEGER NOT NULL
) STRICT;

-- Tasks that wait for something, longest first.
CREATE INDEX tasks_waiting ON tasks (waits_for, not_before) WHERE status = 'waiting';

-- Which snapshots are needed, and for what: one before each call that may change the workspace, and what a
-- rollback replaced.
CREATE TABLE snapshots (
    seq         INTEGER PRIMARY KEY,
    snapshot_id TEXT NOT NULL,
    session_id  TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    workspace   TEXT NOT NULL,
    turn        INTEGER NOT NULL,
    step_id     TEXT NOT NULL,
    why         TEXT NOT NULL CHECK (why IN ('before_call', 'before_rollback')),
    taken_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX snapshots_of_session ON snapshots (session_id, seq);
CREATE INDEX snapshots_of_workspace ON snapshots (workspace, taken_at);
