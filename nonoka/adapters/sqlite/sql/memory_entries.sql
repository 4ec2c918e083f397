-- name: insert
INSERT INTO memory_entries (session_id, position, role, content, metadata, tokens)
VALUES (:session_id, :position, :role, :content, :metadata, :tokens);

-- name: from_position
SELECT position, role, content, metadata, tokens FROM memory_entries
WHERE session_id = :session_id AND position >= :position ORDER BY position;

-- name: at_position
SELECT position, role, content, metadata, tokens FROM memory_entries
WHERE session_id = :session_id AND position = :position;

-- name: newest
SELECT position, role, json_array_length(metadata, '$.tool_calls') AS calls FROM memory_entries
WHERE session_id = :session_id ORDER BY position DESC LIMIT 1;

-- name: positions_between
SELECT position FROM memory_entries
WHERE session_id = :session_id AND position > :after AND position <= :last;
