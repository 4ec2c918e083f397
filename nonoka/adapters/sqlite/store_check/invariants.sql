-- Each query finds the rows that break one rule of the store; a sound store gives none. "about" says what is found.

-- name: a session that goes on has a task
SELECT c.session_id AS session_id, c.status || ', and no task will move it on' AS about
FROM checkpoints AS c
WHERE c.status IN ('created', 'running')
  AND NOT EXISTS (
      SELECT 1 FROM tasks AS t
      WHERE t.session_id = c.session_id AND t.status IN ('ready', 'running', 'waiting')
  );

-- name: a session that has ended waits for nothing
SELECT c.session_id AS session_id, c.status || ', and ' || t.task_id || ' waits for ' || t.waits_for AS about
FROM checkpoints AS c JOIN tasks AS t ON t.session_id = c.session_id
-- But for a rollback by hand, which may wait for the workspace.
WHERE t.status = 'waiting' AND t.waits_for <> 'workspace' AND c.status IN ('completed', 'failed', 'cancelled');

-- name: a session has one live turn
SELECT session_id, group_concat(task_id, ', ') AS about
FROM tasks WHERE kind = 'turn' AND status IN ('ready', 'running', 'waiting')
GROUP BY session_id HAVING COUNT(*) > 1;

-- name: a step at work has a task
SELECT p.session_id AS session_id, 'step ' || p.step || ' is at work, and no task runs it' AS about
FROM plan_steps AS p
WHERE p.phase = 'tasked'
  AND NOT EXISTS (
      SELECT 1 FROM tasks AS t
      WHERE t.session_id = p.session_id AND t.status IN ('ready', 'running', 'waiting')
        AND t.key = 'step:' || p.plan || ':' || p.step || CASE WHEN p.item < 0 THEN '' ELSE '/item:' || p.item END
  );

-- name: a running task has an owner
SELECT t.session_id AS session_id, t.task_id || ' is held by ' || t.lease_owner || ', which nobody knows' AS about
FROM tasks AS t
WHERE t.status = 'running' AND t.lease_expires_at > 0
  AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.worker_id = t.lease_owner);

-- name: the status beside a state is the state's
SELECT session_id, status || ' beside ' || json_extract(state_json, '$.status') AS about
FROM checkpoints WHERE status IS NOT json_extract(state_json, '$.status');

-- name: a state is of its session
SELECT session_id, 'its state is of ' || json_extract(state_json, '$.session_id') AS about
FROM checkpoints WHERE session_id IS NOT json_extract(state_json, '$.session_id');

-- name: every session can be found
SELECT c.session_id AS session_id, 'it is in no list' AS about
FROM checkpoints AS c
WHERE NOT EXISTS (SELECT 1 FROM cli_sessions AS s WHERE s.session_id = c.session_id);

-- name: a conversation has no gap
SELECT m.session_id AS session_id, 'no entry before position ' || m.position AS about
FROM memory_entries AS m JOIN checkpoints AS c ON c.session_id = m.session_id
WHERE m.position > 0
  -- A repair or a rollback may leave places empty that were reserved for results.
  AND NOT EXISTS (
      SELECT 1 FROM memory_entries AS w WHERE w.session_id = m.session_id AND w.withdrawn_at IS NOT NULL
  )
  AND NOT EXISTS (
      SELECT 1 FROM memory_entries AS b WHERE b.session_id = m.session_id AND b.position = m.position - 1
  )
  AND m.position > COALESCE(json_extract(c.state_json, '$.runtime_state.open_turn.position'), -1)
      + COALESCE(json_extract(c.state_json, '$.runtime_state.open_turn.calls'), 0) + 1;

-- name: a call has its result right after it
SELECT m.session_id AS session_id,
       json_extract(call.value, '$.id') || ' at position ' || m.position || ' has no result in its place' AS about
FROM memory_entries AS m
JOIN checkpoints AS c ON c.session_id = m.session_id
JOIN json_each(m.metadata, '$.tool_calls') AS call
LEFT JOIN memory_entries AS r ON r.session_id = m.session_id AND r.position = m.position + 1 + call.key
WHERE m.role = 'assistant' AND m.withdrawn_at IS NULL
  AND m.position IS NOT json_extract(c.state_json, '$.runtime_state.open_turn.position')
  AND (r.role IS NOT 'tool' OR r.withdrawn_at IS NOT NULL
       OR json_extract(r.metadata, '$.tool_call_id') IS NOT json_extract(call.value, '$.id'));

-- name: a result answers a call
SELECT t.session_id AS session_id, 'position ' || t.position || ' answers nothing that was asked there' AS about
FROM memory_entries AS t
WHERE t.role = 'tool' AND t.withdrawn_at IS NULL
  AND NOT EXISTS (
      SELECT 1
      FROM memory_entries AS m JOIN json_each(m.metadata, '$.tool_calls') AS call
      WHERE m.session_id = t.session_id AND m.role = 'assistant' AND m.position = t.position - 1 - call.key
        AND json_extract(call.value, '$.id') IS json_extract(t.metadata, '$.tool_call_id')
  );

-- name: an open turn is in the conversation
SELECT c.session_id AS session_id,
       'its open turn should stand at position ' || json_extract(c.state_json, '$.runtime_state.open_turn.position')
           AS about
FROM checkpoints AS c
LEFT JOIN memory_entries AS m
    ON m.session_id = c.session_id
    AND m.position = json_extract(c.state_json, '$.runtime_state.open_turn.position')
WHERE json_extract(c.state_json, '$.runtime_state.open_turn') IS NOT NULL
  AND (m.role IS NOT 'assistant'
       OR json_array_length(m.metadata, '$.tool_calls')
          IS NOT json_extract(c.state_json, '$.runtime_state.open_turn.calls'));
