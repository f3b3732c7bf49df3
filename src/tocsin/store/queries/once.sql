-- name: once.find
-- What stands under a trigger's key.
SELECT run_id, pid, started, boot_id, result, done_at FROM once WHERE registration_id = :registration_id AND key = :key;

-- name: once.begin
-- A process of a run begins what is not done yet.
INSERT INTO once (registration_id, key, run_id, pid, started, boot_id, began_at)
VALUES (:registration_id, :key, :run_id, :pid, :started, :boot_id, :now)
ON CONFLICT (registration_id, key) DO UPDATE SET
  run_id = excluded.run_id, pid = excluded.pid, started = excluded.started, boot_id = excluded.boot_id,
  began_at = excluded.began_at
WHERE done_at IS NULL;

-- name: once.end
-- What this process of this run began is done; only once.
UPDATE once SET done_at = :now, result = :result
WHERE registration_id = :registration_id AND key = :key AND run_id = :run_id AND pid = :pid AND started = :started
  AND boot_id = :boot_id AND done_at IS NULL;

-- name: once.give_up
-- What this process of this run began and did not do is as if nobody had begun it.
DELETE FROM once
WHERE registration_id = :registration_id AND key = :key AND run_id = :run_id AND pid = :pid AND started = :started
  AND boot_id = :boot_id AND done_at IS NULL;
