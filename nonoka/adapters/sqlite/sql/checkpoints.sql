-- name: insert
INSERT INTO checkpoints (session_id, status, version, state_json) VALUES (:session_id, :status, 1, :state_json);

-- name: update
UPDATE checkpoints SET status = :status, version = version + 1, state_json = :state_json
WHERE session_id = :session_id
RETURNING version;

-- name: touch
UPDATE checkpoints SET version = version + 1 WHERE session_id = :session_id RETURNING version;

-- name: get
SELECT status, version, state_json FROM checkpoints WHERE session_id = :session_id;

-- name: status
SELECT status FROM checkpoints WHERE session_id = :session_id;

-- name: delete
DELETE FROM checkpoints WHERE session_id = :session_id;

-- name: count
SELECT status, COUNT(*) AS number FROM checkpoints GROUP BY status;

-- name: taskless
SELECT c.session_id FROM checkpoints AS c INDEXED BY checkpoints_unended
WHERE c.status IN ('created', 'running')
  AND NOT EXISTS (
      SELECT 1 FROM tasks AS t
      WHERE t.session_id = c.session_id AND t.status IN ('ready', 'running', 'waiting')
  );
