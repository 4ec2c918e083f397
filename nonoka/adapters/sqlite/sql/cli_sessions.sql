-- name: insert
INSERT INTO cli_sessions
    (session_id, kind, title, working_dir, agent, model, created_at, last_active, parent, metadata)
VALUES
    (:session_id, :kind, :title, :working_dir, :agent, :model, :created_at, :last_active, :parent, :metadata);

-- name: touch
UPDATE cli_sessions SET last_active = :now WHERE session_id = :session_id;

-- name: get
SELECT * FROM cli_sessions WHERE session_id = :session_id;

-- name: by_enqueue_key
SELECT session_id FROM cli_sessions WHERE json_extract(metadata, '$.enqueue_key') = :key;

-- name: by_prefix
SELECT * FROM cli_sessions WHERE session_id >= :prefix AND session_id < :prefix_end ORDER BY session_id LIMIT 6;

-- name: newest
SELECT s.*, c.status AS status
FROM cli_sessions AS s JOIN checkpoints AS c ON c.session_id = s.session_id
WHERE s.created_at BETWEEN :since AND :until
  AND (s.created_at < :until OR s.session_id > :after_id)
  AND (:statuses_json = '[]' OR c.status IN (SELECT value FROM json_each(:statuses_json)))
  AND substr(s.working_dir || '/', 1, length(:below)) = :below
ORDER BY s.created_at DESC, s.session_id;
