-- A plan that a session runs, as it was stored; plan counts the plans of a session.
CREATE TABLE plans (
    session_id   TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    plan         INTEGER NOT NULL CHECK (plan >= 1),
    digest       TEXT NOT NULL,
    inputs_json  TEXT NOT NULL CHECK (json_valid(inputs_json)),
    outputs_json TEXT CHECK (outputs_json IS NULL OR json_valid(outputs_json)),
    plan_json    TEXT NOT NULL CHECK (json_valid(plan_json)),
    PRIMARY KEY (session_id, plan)
) STRICT;

-- A row a step, and a row an item of one that is fanned out (item counts from 0; -1 is the step itself). value_json
-- is what an item works on. What a join reads comes before what a step brought.
CREATE TABLE plan_steps (
    session_id  TEXT NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    plan        INTEGER NOT NULL,
    step        TEXT NOT NULL,
    item        INTEGER NOT NULL CHECK (item >= -1),
    place       INTEGER NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled', 'skipped')),
    phase       TEXT NOT NULL CHECK (phase IN ('blocked', 'held', 'queued', 'tasked', 'spread', 'over')),
    child       TEXT,
    run_json    TEXT NOT NULL CHECK (json_valid(run_json)),
    value_json  TEXT CHECK (value_json IS NULL OR json_valid(value_json)),
    result_json TEXT CHECK (result_json IS NULL OR json_valid(result_json)),
    PRIMARY KEY (session_id, plan, step, item),
    CHECK ((phase = 'over') = (status IN ('completed', 'failed', 'cancelled', 'skipped')))
) STRICT;

-- What waits for room, in the plan's order.
CREATE INDEX plan_steps_queued ON plan_steps (session_id, plan, place, item) WHERE phase = 'queued';
