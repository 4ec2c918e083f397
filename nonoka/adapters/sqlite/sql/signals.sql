-- name: insert
INSERT INTO signals (session_id, seq, kind, payload_json, created_at, drained_at)
SELECT :session_id, COALESCE(MAX(seq), 0) + 1, :kind, :payload_json, :now, :drained_at
FROM signals WHERE session_id = :session_id
RETURNING seq;

-- name: undrained
SELECT session_id, seq, kind, payload_json, created_at FROM signals INDEXED BY signals_undrained
WHERE session_id = :session_id AND drained_at IS NULL ORDER BY seq;

-- name: drain
UPDATE signals SET drained_at = :now WHERE session_id = :session_id AND seq = :seq AND drained_at IS NULL;

-- name: undrained_of_worker
SELECT s.session_id, s.seq, s.kind, s.payload_json, s.created_at
FROM tasks AS t JOIN signals AS s ON s.session_id = t.session_id
WHERE t.status = 'running' AND t.lease_owner = :worker_id AND s.drained_at IS NULL;
