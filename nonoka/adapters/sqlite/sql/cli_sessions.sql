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

-- name: ended_before
SELECT s.session_id
FROM cli_sessions AS s INDEXED BY cli_sessions_newest CROSS JOIN checkpoints AS c ON c.session_id = s.session_id
WHERE s.created_at >= :after_at AND s.created_at < :before AND s.last_active < :before
  AND (s.created_at > :after_at OR s.session_id < :after_id)
  AND c.status IN ('completed', 'failed', 'cancelled')
ORDER BY s.created_at, s.session_id DESC LIMIT :limit;

-- name: old
SELECT s.*, c.status AS status,
    EXISTS (
        SELECT 1 FROM tasks AS t INDEXED BY tasks_live
        WHERE t.session_id = s.session_id AND t.status IN ('ready', 'running', 'waiting')
    ) OR EXISTS (
        SELECT 1 FROM signals AS g INDEXED BY signals_undrained
        WHERE g.session_id = s.session_id AND g.drained_at IS NULL
    ) AS busy,
    EXISTS (
        SELECT 1 FROM cli_sessions AS k JOIN checkpoints AS d ON d.session_id = k.session_id
        WHERE (k.parent = s.session_id OR k.session_id = s.parent)
          AND (
              d.status NOT IN ('completed', 'failed', 'cancelled')
              OR EXISTS (
                  SELECT 1 FROM tasks AS t INDEXED BY tasks_live
                  WHERE t.session_id = k.session_id AND t.status IN ('ready', 'running', 'waiting')
              )
          )
    ) AS kin_at_work
FROM cli_sessions AS s JOIN checkpoints AS c ON c.session_id = s.session_id
WHERE s.session_id = :session_id;

-- name: known
SELECT session_id FROM checkpoints WHERE session_id IN (SELECT value FROM json_each(:ids_json));
