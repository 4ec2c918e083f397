-- name: insert
INSERT INTO tasks (task_id, session_id, kind, key, status, not_before)
VALUES (:task_id, :session_id, :kind, :key, 'ready', :not_before);

-- name: get
SELECT * FROM tasks WHERE task_id = :task_id;

-- name: of_session
SELECT * FROM tasks WHERE session_id = :session_id ORDER BY rowid;

-- name: live_of_session
SELECT * FROM tasks INDEXED BY tasks_live
WHERE session_id = :session_id AND status IN ('ready', 'running', 'waiting');

-- name: ready
SELECT t.*, (
    SELECT e.data_json FROM events AS e
    WHERE e.session_id = t.session_id AND e.type IN ('turn_retried', 'turn_started')
    ORDER BY e.seq DESC LIMIT 1
) AS why
FROM tasks AS t WHERE t.status = 'ready' ORDER BY t.not_before, t.rowid LIMIT :limit;

-- name: workload
SELECT
    COALESCE(SUM(status = 'ready' AND not_before <= :now), 0) AS ready,
    COALESCE(SUM(status = 'ready' AND not_before > :now), 0) AS delayed,
    COALESCE(SUM(status = 'running'), 0) AS running,
    COALESCE(SUM(status = 'waiting'), 0) AS waiting,
    COALESCE(:now - MIN(CASE WHEN status = 'ready' AND not_before <= :now THEN not_before END), 0) AS oldest_ready_ms
FROM tasks INDEXED BY tasks_live WHERE status IN ('ready', 'running', 'waiting');

-- name: due
SELECT t.task_id, t.session_id, t.deaths, s.agent
FROM tasks AS t JOIN cli_sessions AS s ON s.session_id = t.session_id
WHERE t.status = 'ready' AND t.not_before <= :now
  AND (t.sent_at IS NULL OR t.sent_at + MIN(60000, 500 << MIN(MAX(t.sends - 1, 0), 10)) <= :now)
  AND s.agent NOT IN (SELECT value FROM json_each(:agents_to_skip))
ORDER BY t.not_before, t.rowid LIMIT :limit;

-- name: others_due
SELECT 1 AS found FROM tasks INDEXED BY tasks_ready
WHERE status = 'ready' AND not_before <= :since AND session_id <> :session_id LIMIT 1;

-- name: mark_sent
UPDATE tasks SET sent_at = :now, sends = sends + 1 WHERE task_id = :task_id;

-- name: claimable_by_id
SELECT t.task_id FROM tasks AS t JOIN cli_sessions AS s ON s.session_id = t.session_id
WHERE t.task_id = :task_id AND t.status = 'ready' AND t.not_before <= :now AND t.deaths <= :most_deaths
  AND (:session_id IS NULL OR t.session_id = :session_id)
  AND s.agent NOT IN (SELECT value FROM json_each(:agents_to_skip));

-- name: claimable
SELECT t.task_id FROM tasks AS t JOIN cli_sessions AS s ON s.session_id = t.session_id
WHERE t.status = 'ready' AND t.not_before <= :now AND t.deaths <= :most_deaths
  AND s.agent NOT IN (SELECT value FROM json_each(:agents_to_skip))
ORDER BY t.not_before, t.rowid LIMIT 1;

-- name: claimable_of_session
SELECT t.task_id
FROM tasks AS t INDEXED BY tasks_live JOIN cli_sessions AS s ON s.session_id = t.session_id
WHERE t.session_id = :session_id AND t.status IN ('ready', 'running', 'waiting')
  AND t.status = 'ready' AND t.not_before <= :now AND t.deaths <= :most_deaths
  AND s.agent NOT IN (SELECT value FROM json_each(:agents_to_skip))
ORDER BY t.not_before, t.rowid LIMIT 1;

-- name: claim
UPDATE tasks SET
    status = 'running', fence = fence + 1, attempt = attempt + 1, lease_owner = :worker_id,
    lease_expires_at = :lease_expires_at, sent_at = NULL, sends = 0
WHERE task_id = :task_id AND status = 'ready'
RETURNING *;

-- name: held
SELECT
    t.*,
    (SELECT c.version FROM checkpoints AS c WHERE c.session_id = t.session_id) AS version,
    EXISTS (
        SELECT 1 FROM signals AS s INDEXED BY signals_undrained
        WHERE s.session_id = t.session_id AND s.drained_at IS NULL
    ) AS has_signals,
    EXISTS (SELECT 1 FROM workspace_locks) AS has_locks
FROM tasks AS t
WHERE t.task_id = :task_id AND t.status = 'running' AND t.fence = :fence AND t.lease_owner = :worker_id;

-- name: keep
UPDATE tasks SET lease_expires_at = :lease_expires_at, retries = :retries, deaths = :deaths
WHERE task_id = :task_id
RETURNING *;

-- name: finish
UPDATE tasks SET
    status = :status, retries = :retries, deaths = :deaths, lease_owner = NULL, lease_expires_at = NULL,
    sent_at = NULL, sends = 0
WHERE task_id = :task_id
RETURNING *;

-- name: release
UPDATE tasks SET
    status = 'ready', not_before = :not_before, retries = :retries, deaths = :deaths, fence = fence + 1,
    lease_owner = NULL, lease_expires_at = NULL, sent_at = NULL, sends = 0
WHERE task_id = :task_id
RETURNING *;

-- name: close_others
UPDATE tasks INDEXED BY tasks_live SET
    status = 'done', fence = fence + 1, waits_for = NULL, lease_owner = NULL, lease_expires_at = NULL,
    sent_at = NULL, sends = 0
WHERE session_id = :session_id AND status IN ('ready', 'running', 'waiting') AND task_id <> :task_id;

-- name: make_due
UPDATE tasks INDEXED BY tasks_live SET not_before = :now, sent_at = NULL, sends = 0
WHERE session_id = :session_id AND status IN ('ready', 'running', 'waiting') AND status = 'ready'
  AND not_before > :now;

-- name: highest_turn
SELECT MAX(
    COALESCE((
        SELECT MAX(CAST(substr(key, 6) AS INTEGER)) FROM tasks WHERE session_id = :session_id AND kind = 'turn'
    ), 0),
    COALESCE((SELECT json_extract(state_json, '$.turn_count') FROM checkpoints WHERE session_id = :session_id), 0)
) AS number;

-- name: renew
UPDATE tasks SET lease_expires_at = :lease_expires_at WHERE status = 'running' AND lease_owner = :worker_id
RETURNING task_id, fence;

-- name: running
SELECT * FROM tasks WHERE status = 'running' ORDER BY lease_owner;

-- name: take_over
UPDATE tasks SET fence = fence + 1, lease_owner = :worker_id, lease_expires_at = :lease_expires_at
WHERE task_id = :task_id AND status = 'running' AND fence = :fence;

-- name: owned_count
SELECT COUNT(*) AS number FROM tasks WHERE status = 'running' AND lease_owner = :worker_id;

-- name: wait
UPDATE tasks SET
    status = 'waiting', waits_for = :waits_for, not_before = :not_before, retries = :retries, deaths = :deaths,
    fence = fence + 1, lease_owner = NULL, lease_expires_at = NULL, sent_at = NULL, sends = 0
WHERE task_id = :task_id
RETURNING *;

-- name: wake
UPDATE tasks SET status = 'ready', waits_for = NULL, sent_at = NULL, sends = 0
WHERE task_id = :task_id AND status = 'waiting';

-- name: wake_session
UPDATE tasks INDEXED BY tasks_live SET status = 'ready', waits_for = NULL, sent_at = NULL, sends = 0
WHERE session_id = :session_id AND status IN ('ready', 'running', 'waiting') AND status = 'waiting'
  AND waits_for = 'workspace';

-- name: open_step
INSERT INTO tasks (task_id, session_id, kind, key, status, not_before)
VALUES (:task_id, :session_id, 'step', :key, 'ready', :not_before)
ON CONFLICT (task_id) DO UPDATE SET
    status = 'ready', not_before = excluded.not_before, retries = 0, deaths = 0, fence = fence + 1, waits_for = NULL,
    lease_owner = NULL, lease_expires_at = NULL, sent_at = NULL, sends = 0
WHERE status IN ('done', 'dead');

-- name: take_off
UPDATE tasks SET
    status = 'done', fence = fence + 1, waits_for = NULL, sent_at = NULL, sends = 0
WHERE task_id = :task_id AND status IN ('ready', 'waiting');

-- name: unclaimed_steps
SELECT key FROM tasks INDEXED BY tasks_live
WHERE session_id = :session_id AND status IN ('ready', 'running', 'waiting') AND kind = 'step'
  AND (status = 'ready' OR (status = 'waiting' AND waits_for = 'workspace'));

-- name: another_runs
SELECT 1 FROM tasks INDEXED BY tasks_live
WHERE session_id = :session_id AND status IN ('ready', 'running', 'waiting') AND status = 'running'
  AND task_id <> :task_id
LIMIT 1;

-- name: waiting_for
SELECT task_id FROM tasks INDEXED BY tasks_waiting WHERE status = 'waiting' AND waits_for = :waits_for;

-- name: close
UPDATE tasks SET
    status = 'done', fence = fence + 1, waits_for = NULL, lease_owner = NULL, lease_expires_at = NULL,
    sent_at = NULL, sends = 0
WHERE task_id = :task_id;

-- name: let_unowned_run_out
UPDATE tasks SET lease_expires_at = 0
WHERE session_id = :session_id AND status = 'running'
  AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.worker_id = tasks.lease_owner);
