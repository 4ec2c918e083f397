-- name: insert
INSERT INTO snapshots (snapshot_id, session_id, workspace, turn, step_id, why, taken_at)
VALUES (:snapshot_id, :session_id, :workspace, :turn, :step_id, :why, :taken_at);

-- name: of_session
SELECT snapshot_id, session_id, workspace, turn, step_id, why, taken_at FROM snapshots
WHERE session_id = :session_id ORDER BY seq;

-- name: ids
SELECT DISTINCT snapshot_id FROM snapshots WHERE let_go_at IS NULL;

-- name: spare
SELECT n.seq FROM snapshots AS n JOIN checkpoints AS c ON c.session_id = n.session_id
WHERE n.let_go_at IS NULL AND n.taken_at <= :taken_until AND c.status IN ('completed', 'failed', 'cancelled')
  AND NOT EXISTS (
      SELECT 1 FROM tasks AS t INDEXED BY tasks_live
      WHERE t.session_id = n.session_id AND t.status IN ('ready', 'running', 'waiting')
  )
ORDER BY n.taken_at, n.seq LIMIT :limit;

-- name: let_go
UPDATE snapshots SET let_go_at = :now WHERE seq = :seq;

-- name: of_others_since
SELECT n.snapshot_id, n.session_id, n.workspace, n.turn, n.step_id, n.why, n.taken_at
FROM snapshots AS n INDEXED BY snapshots_of_workspace
WHERE n.workspace = :workspace AND n.taken_at >= :since AND n.session_id <> :session_id
  AND n.why = 'before_call'
  AND EXISTS (
      SELECT 1 FROM step_updates AS u
      WHERE u.session_id = n.session_id AND u.step_id = n.step_id AND u.update_type IN ('result', 'error')
  )
ORDER BY n.seq;
