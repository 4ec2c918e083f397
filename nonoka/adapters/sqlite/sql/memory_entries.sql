-- name: insert
INSERT INTO memory_entries (session_id, position, role, content, metadata, tokens)
VALUES (:session_id, :position, :role, :content, :metadata, :tokens);

-- name: withdraw
UPDATE memory_entries SET withdrawn_at = :now
WHERE session_id = :session_id AND position >= :position AND withdrawn_at IS NULL;

-- name: from_position
SELECT position, role, content, metadata, tokens FROM memory_entries
WHERE session_id = :session_id AND position >= :position AND withdrawn_at IS NULL ORDER BY position;

-- name: withdrawn
SELECT position, role, content, metadata, tokens FROM memory_entries
WHERE session_id = :session_id AND withdrawn_at = :at ORDER BY position;

-- name: at_position
SELECT position, role, content, metadata, tokens FROM memory_entries
WHERE session_id = :session_id AND position = :position AND withdrawn_at IS NULL;

-- name: highest
SELECT position, role, json_array_length(metadata, '$.tool_calls') AS calls, withdrawn_at FROM memory_entries
WHERE session_id = :session_id ORDER BY position DESC LIMIT 1;

-- name: newest
SELECT role, json_array_length(metadata, '$.tool_calls') AS calls FROM memory_entries
WHERE session_id = :session_id AND withdrawn_at IS NULL ORDER BY position DESC LIMIT 1;

-- name: positions_between
SELECT position FROM memory_entries
WHERE session_id = :session_id AND position > :after AND position <= :last AND withdrawn_at IS NULL;
