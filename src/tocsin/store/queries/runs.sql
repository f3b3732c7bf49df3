-- name: runs.insert
-- A run that starts now.
INSERT INTO runs (
  id, event_id, registration_id, workflow, workflow_version, attempt, engine_key, params, state, started_at, log, test)
VALUES (
  :id, :event_id, :registration_id, :workflow, :workflow_version, :attempt, :engine_key, :params, 'running',
  :started_at, :log, :test);

-- name: runs.process
-- The local process behind a run.
UPDATE runs SET pid = :pid, pid_started = :pid_started, boot_id = :boot_id WHERE id = :id AND state = 'running';

-- name: runs.finish
-- How a run ended; only once.
UPDATE runs SET
  state = :state, finished_at = :finished_at, exit_code = :exit_code, signal = :signal, error = :error,
  output = :output, cost_usd = :cost_usd
WHERE id = :id AND state = 'running';

-- name: runs.by_id
-- One run.
SELECT * FROM run_rows WHERE id = :id;

-- name: runs.by_prefix
-- The runs an id prefix fits, two at most.
SELECT * FROM run_rows WHERE id >= :prefix AND id < :beyond ORDER BY id LIMIT 2;

-- name: runs.of_event
-- An event's runs, first attempt first.
SELECT * FROM run_rows WHERE event_id = :event_id ORDER BY seq;

-- name: runs.listed
-- Newest first; each filter that is NULL does not filter.
SELECT * FROM run_rows
WHERE (:registration_id IS NULL OR registration_id = :registration_id)
  AND (:state IS NULL OR state = :state)
  AND (:since IS NULL OR started_at >= :since)
ORDER BY seq DESC LIMIT :limit;

-- name: runs.nth_last
-- When the attempt began that has so many after it; none while there are fewer.
SELECT started_at FROM runs INDEXED BY runs_registration
WHERE registration_id = :registration_id AND test = 0 ORDER BY seq DESC LIMIT 1 OFFSET :offset;

-- name: runs.under_way_at
-- A trigger's runs at an instant, of its last hundred; two at most, for one is an answer. The kernel's clock for files
-- lags by a tick.
SELECT * FROM (
  SELECT * FROM run_rows WHERE registration_id = :registration_id AND test = 0 ORDER BY seq DESC LIMIT 100)
WHERE started_at <= :at + 20000 AND (finished_at IS NULL OR finished_at >= :at) AND state <> 'lost'
ORDER BY seq DESC LIMIT 2;

-- name: runs.running
-- Runs without an end.
SELECT * FROM run_rows WHERE state = 'running' ORDER BY seq;
