-- Since when (ms UTC) a snapshot is not kept any more though its session is: all together took too much.
ALTER TABLE snapshots ADD COLUMN let_go_at INTEGER;

-- Directories that were made for sessions that are deleted: nothing else knows of them.
CREATE TABLE leftovers (
    directory  TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    repository TEXT,
    deleted_at INTEGER NOT NULL
) STRICT;

-- Whose parent a session is, and who works in a directory.
CREATE INDEX cli_sessions_parent ON cli_sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX cli_sessions_working_dir ON cli_sessions (working_dir);
