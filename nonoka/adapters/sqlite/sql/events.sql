-- name: last_seq
SELECT COALESCE(MAX(seq), 0) AS seq FROM events WHERE session_id = :session_id;

-- name: insert
INSERT INTO events (session_id, seq, at, type, data_json) VALUES (:session_id, :seq, :at, :type, :data_json);

-- name: after
SELECT session_id, seq, at, type, data_json FROM events
WHERE session_id = :session_id AND seq > :seq ORDER BY seq LIMIT :limit;
