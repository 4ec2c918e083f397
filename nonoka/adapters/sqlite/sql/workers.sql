-- name: insert
INSERT INTO workers
    (worker_id, kind, pid, pid_started, boot_id, pid_namespace, uid, lock_path, lock_inode, started_at, seen_at)
VALUES
    (:worker_id, :kind, :pid, :pid_started, :boot_id, :pid_namespace, :uid, :lock_path, :lock_inode,
     :started_at, :seen_at);

-- name: seen
UPDATE workers SET seen_at = :now WHERE worker_id = :worker_id;

-- name: delete
DELETE FROM workers WHERE worker_id = :worker_id;

-- name: all
SELECT * FROM workers ORDER BY started_at, worker_id;

-- name: sharing
SELECT COUNT(*) AS number FROM workers WHERE kind = 'worker';
