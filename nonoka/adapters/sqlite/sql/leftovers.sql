-- name: note
INSERT OR REPLACE INTO leftovers (directory, session_id, repository, deleted_at)
VALUES (:directory, :session_id, :repository, :now);

-- name: free
SELECT l.directory, l.session_id, l.repository FROM leftovers AS l
WHERE NOT EXISTS (
    SELECT 1 FROM cli_sessions AS s INDEXED BY cli_sessions_working_dir
    WHERE s.working_dir = l.directory
       OR (s.working_dir > l.directory || '/' AND s.working_dir < l.directory || '0')
)
ORDER BY l.directory;

-- name: forget
DELETE FROM leftovers WHERE directory = :directory;
