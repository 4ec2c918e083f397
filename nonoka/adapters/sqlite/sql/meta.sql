-- name: put_if_absent
INSERT OR IGNORE INTO meta (key, value) VALUES (:key, :value);

-- name: get
SELECT value FROM meta WHERE key = :key;

-- name: replace
UPDATE meta SET value = :value WHERE key = :key AND value = :instead_of;

-- name: put
INSERT OR REPLACE INTO meta (key, value) VALUES (:key, :value);
