-- name: put
INSERT INTO plan_steps (session_id, plan, step, item, place, status, phase, child, run_json)
VALUES (:session_id, :plan, :step, :item, :place, :status, :phase, :child, :run_json)
ON CONFLICT (session_id, plan, step, item) DO UPDATE SET
    place = excluded.place, status = excluded.status, phase = excluded.phase, child = excluded.child,
    run_json = excluded.run_json;

-- name: give_value
UPDATE plan_steps SET value_json = :value_json
WHERE session_id = :session_id AND plan = :plan AND step = :step AND item = :item;

-- name: give_result
UPDATE plan_steps SET result_json = :value_json
WHERE session_id = :session_id AND plan = :plan AND step = :step AND item = :item;

-- name: get
SELECT run_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan AND step = :step AND item = :item;

-- name: result
SELECT run_json, result_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan AND step = :step AND item = -1;

-- name: item_results
SELECT status, result_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan AND step = :step AND item >= 0 AND item < :items ORDER BY item;

-- name: value
SELECT value_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan AND step = :step AND item = :item;

-- name: queued
SELECT run_json FROM plan_steps INDEXED BY plan_steps_queued
WHERE session_id = :session_id AND plan = :plan AND phase = 'queued' ORDER BY place, item LIMIT :limit;

-- name: unfinished
SELECT run_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan AND phase <> 'over' ORDER BY place, item;

-- name: items
SELECT run_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan AND step = :step AND item >= 0 AND item < :items ORDER BY item;

-- name: with_child
SELECT run_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan AND child IS NOT NULL AND phase <> 'over';

-- name: of_plan
SELECT run_json, result_json FROM plan_steps
WHERE session_id = :session_id AND plan = :plan ORDER BY place, item;

-- name: of_session
SELECT run_json, result_json FROM plan_steps WHERE session_id = :session_id ORDER BY plan, place, item;

-- name: at_work
SELECT run_json FROM plan_steps WHERE session_id = :session_id AND phase = 'tasked';
