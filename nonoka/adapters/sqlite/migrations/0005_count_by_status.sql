-- How many sessions have each status, without reading a state.
CREATE INDEX checkpoints_status ON checkpoints (status);
