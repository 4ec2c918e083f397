-- name: put
INSERT INTO plans (session_id, plan, digest, inputs_json, plan_json)
VALUES (:session_id, :plan, :digest, :inputs_json, :plan_json)
ON CONFLICT (session_id, plan) DO UPDATE SET
    digest = excluded.digest, inputs_json = excluded.inputs_json, plan_json = excluded.plan_json;

-- name: definition
SELECT plan_json FROM plans WHERE session_id = :session_id AND plan = :plan;

-- name: inputs
SELECT inputs_json FROM plans WHERE session_id = :session_id AND plan = :plan;

-- name: put_out
UPDATE plans SET outputs_json = :outputs_json WHERE session_id = :session_id AND plan = :plan;

-- name: outputs
SELECT outputs_json FROM plans WHERE session_id = :session_id AND plan = :plan;
