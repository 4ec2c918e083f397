-- name: holders
SELECT l.task_id FROM workspace_locks AS l
WHERE l.workspace = :workspace
   OR substr(:workspace, 1, length(l.workspace) + 1) = l.workspace || '/'
   OR substr(l.workspace, 1, length(:workspace) + 1) = :workspace || '/';

-- name: take
INSERT INTO workspace_locks (workspace, task_id, taken_at) VALUES (:workspace, :task_id, :now);

-- name: free
DELETE FROM workspace_locks WHERE task_id = :task_id;

-- name: abandoned
SELECT l.task_id FROM workspace_locks AS l JOIN tasks AS t ON t.task_id = l.task_id WHERE t.status <> 'running';

-- name: waiting
SELECT t.task_id FROM tasks AS t INDEXED BY tasks_waiting JOIN cli_sessions AS s ON s.session_id = t.session_id
WHERE t.status = 'waiting' AND t.waits_for = 'workspace'
  AND NOT EXISTS (
      SELECT 1 FROM workspace_locks AS l
      WHERE l.workspace = s.working_dir
         OR substr(s.working_dir, 1, length(l.workspace) + 1) = l.workspace || '/'
         OR substr(l.workspace, 1, length(s.working_dir) + 1) = s.working_dir || '/'
  )
ORDER BY t.not_before, t.rowid LIMIT :limit;

-- name: held
SELECT 1 AS found FROM workspace_locks AS l JOIN tasks AS t ON t.task_id = l.task_id
WHERE t.session_id = :session_id;
