-- name: put
REPLACE INTO step_updates (session_id, step_id, update_type, payload_json)
VALUES (:session_id, :step_id, :update_type, :payload_json);

-- name: statuses_of_turn
SELECT seq, step_id, update_type, payload_json FROM step_updates
WHERE session_id = :session_id AND step_id >= :first AND step_id < :end AND update_type = 'status';

-- name: of_session
SELECT seq, step_id, update_type, payload_json FROM step_updates WHERE session_id = :session_id ORDER BY seq;
