-- The key that whoever enqueues may give: no two sessions share one, so that enqueuing again finds the first.
CREATE UNIQUE INDEX cli_sessions_enqueue_key ON cli_sessions (json_extract(metadata, '$.enqueue_key'))
WHERE json_extract(metadata, '$.enqueue_key') IS NOT NULL;
