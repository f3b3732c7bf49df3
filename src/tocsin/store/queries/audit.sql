-- name: audit.sizes
-- How much there is to look at.
SELECT (SELECT count(*) FROM deliveries) AS deliveries, (SELECT count(*) FROM events) AS events,
  (SELECT count(*) FROM runs) AS runs;

-- name: audit.integrity
-- The file itself, its indexes and its constraints.
PRAGMA integrity_check;

-- name: audit.references
-- Rows that name a row which is not there.
PRAGMA foreign_key_check;

-- name: audit.lost_events
-- Accepted hashes whose event is gone, though no retention can have taken it.
SELECT hash AS id, 'accepted as ' || coalesce(event_id, 'nothing') || ', which is not there' AS detail FROM seen
WHERE verdict = 'accepted' AND NOT EXISTS (SELECT 1 FROM events WHERE events.id = seen.event_id)
  AND first_seen_at >= coalesce((SELECT json_extract(value, '$.events') FROM meta WHERE key = 'horizons'), 0);

-- name: audit.lost_replays
-- Quarantined deliveries whose event is gone, though no retention can have taken it: its id begins with its time.
SELECT quarantine.id, 'replayed as ' || coalesce(made.value, 'nothing') || ', which is not there' AS detail
FROM quarantine LEFT JOIN json_each(quarantine.events) AS made
WHERE quarantine.state = 'replayed' AND NOT EXISTS (SELECT 1 FROM events WHERE events.id = made.value)
  AND (made.value IS NULL OR substr(made.value, 5, 12) >= printf('%012x', coalesce((SELECT json_extract(value, '$.events') FROM meta WHERE key = 'horizons'), 0) / 1000));

-- name: audit.unkeyed
-- Events whose key is no hash in the ledger; those of a later generation are looked at more closely.
SELECT id, registration_id, kind, delivery_id, idempotency_key FROM events
WHERE NOT EXISTS (
  SELECT 1 FROM seen
  WHERE seen.hash = substr(events.idempotency_key, 9) AND seen.registration_id = events.registration_id);

-- name: audit.repeated
-- Deliveries that made several events of one registration.
SELECT min(id) AS id, registration_id, kind, delivery_id, count(*) AS events FROM events
GROUP BY registration_id, kind, delivery_id HAVING count(*) > 1;

-- name: audit.unlike_delivery
-- Events whose delivery tells of something else.
SELECT events.id, 'made from ' || deliveries.delivery_id || ', says ' || events.delivery_id AS detail
FROM events JOIN deliveries ON deliveries.id = events.delivery
WHERE deliveries.delivery_id <> events.delivery_id OR deliveries.kind <> events.kind;

-- name: audit.stray_deliveries
-- Deliveries that no event was made from.
SELECT id, 'no event was made from it' AS detail FROM deliveries
WHERE NOT EXISTS (SELECT 1 FROM events WHERE events.delivery = deliveries.id);

-- name: audit.lost_payloads
-- Events that are still to run and have no payload.
SELECT events.id, 'is ' || events.state || ' and has no payload any more' AS detail
FROM events JOIN deliveries ON deliveries.id = events.delivery
WHERE events.state IN ('held', 'pending', 'claimed') AND deliveries.pruned_at IS NOT NULL;

-- name: audit.successes
-- Succeeded events without exactly one success, which is their last run.
SELECT id, (SELECT count(*) FROM runs WHERE runs.event_id = events.id AND runs.state = 'succeeded')
  || ' successes, last run ' || coalesce((SELECT state FROM runs WHERE runs.id = events.run_id), 'missing') AS detail
FROM events
WHERE state = 'succeeded' AND NOT (
    coalesce(run_id = (SELECT id FROM runs WHERE runs.event_id = events.id ORDER BY seq DESC LIMIT 1), 0)
    AND (SELECT state FROM runs WHERE runs.id = events.run_id) = 'succeeded'
    AND (SELECT count(*) FROM runs WHERE runs.event_id = events.id AND runs.state = 'succeeded') = 1)
  AND NOT (created_at < coalesce((SELECT json_extract(value, '$.runs') FROM meta WHERE key = 'horizons'), 0)
    AND run_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = events.run_id));

-- name: audit.failures
-- Failed events whose last run did not fail.
SELECT id, 'last run ' || coalesce((SELECT state FROM runs WHERE runs.id = events.run_id), 'missing') AS detail
FROM events
WHERE state = 'failed' AND NOT (
    coalesce(run_id = (SELECT id FROM runs WHERE runs.event_id = events.id ORDER BY seq DESC LIMIT 1), 0)
    AND (SELECT state FROM runs WHERE runs.id = events.run_id) IN ('failed', 'lost'))
  AND NOT (created_at < coalesce((SELECT json_extract(value, '$.runs') FROM meta WHERE key = 'horizons'), 0)
    AND run_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = events.run_id));

-- name: audit.unheard_successes
-- Runs that succeeded, of events that say otherwise.
SELECT runs.id, 'succeeded, but ' || events.id || ' is ' || events.state AS detail
FROM runs JOIN events ON events.id = runs.event_id
WHERE runs.state = 'succeeded' AND events.state <> 'succeeded';

-- name: audit.unexplained
-- Events that wait, or have ended without success, and do not say why.
SELECT id, 'is ' || state || ' without a reason' AS detail FROM events
WHERE state IN ('held', 'failed', 'skipped', 'dropped') AND coalesce(reason, '') = '';

-- name: audit.attempts
-- Events whose attempts are not those of their runs; one that was given back is one less.
SELECT events.id, 'attempts ' || attempts || ', last run is attempt ' || coalesce(last.attempt, 'none') AS detail
FROM events LEFT JOIN runs AS last ON last.seq = (SELECT max(seq) FROM runs WHERE runs.event_id = events.id)
WHERE NOT coalesce(attempts = last.attempt, 0)
  AND NOT coalesce(attempts = last.attempt - 1 AND last.state IN ('cancelled', 'failed')
    AND events.state IN ('held', 'pending', 'dropped'), 0)
  AND NOT (last.seq IS NULL AND (attempts = 0 AND events.state <> 'claimed' OR created_at < coalesce((SELECT json_extract(value, '$.runs') FROM meta WHERE key = 'horizons'), 0)));

-- name: audit.gaps
-- Events with runs of some attempts and none of one in between.
SELECT events.id, 'attempts ' || min(runs.attempt) || ' to ' || max(runs.attempt) || ' in '
  || count(DISTINCT runs.attempt) || ' runs' AS detail
FROM runs JOIN events ON events.id = runs.event_id
GROUP BY events.id
HAVING count(DISTINCT runs.attempt) <> max(runs.attempt) - min(runs.attempt) + 1
  OR (min(runs.attempt) > 1 AND events.created_at >= coalesce((SELECT json_extract(value, '$.runs') FROM meta WHERE key = 'horizons'), 0));

-- name: audit.started_twice
-- Runs of an attempt that had been used up by an earlier run: only what was given back may be started again.
SELECT runs.id, 'attempt ' || runs.attempt || ' of ' || runs.event_id || ' was ' || earlier.state || ' in '
  || earlier.id AS detail
FROM runs JOIN runs AS earlier ON earlier.event_id = runs.event_id AND earlier.seq < runs.seq
WHERE earlier.attempt >= runs.attempt
  AND (earlier.attempt > runs.attempt OR earlier.state IN ('running', 'succeeded', 'lost'));

-- name: audit.misnamed
-- Runs whose engine key is not their event's and attempt's.
SELECT runs.id, 'engine key ' || engine_key || ', attempt ' || attempt || ' of ' || idempotency_key AS detail
FROM runs JOIN events ON events.id = runs.event_id
WHERE engine_key <> idempotency_key || ':' || attempt OR runs.registration_id <> events.registration_id;

-- name: audit.running
-- Runs without an end that are not the present run of a claimed event.
SELECT runs.id, 'running, while its event is ' || coalesce(events.state, 'none') AS detail
FROM runs LEFT JOIN events ON events.id = runs.event_id
WHERE runs.state = 'running' AND NOT coalesce(events.state = 'claimed' AND events.run_id = runs.id, 0);

-- name: audit.claimed
-- Claimed events without an owner, or whose run does not run.
SELECT id, 'claimed by ' || coalesce(claim_owner, 'nobody') || ', its run is '
  || coalesce((SELECT state FROM runs WHERE runs.id = events.run_id), 'missing') AS detail
FROM events
WHERE state = 'claimed' AND (claim_owner IS NULL OR claim_id IS NULL OR NOT EXISTS (
  SELECT 1 FROM runs WHERE runs.id = events.run_id AND runs.event_id = events.id AND runs.state = 'running'));

-- name: audit.crowded_lanes
-- Lanes with more than one event that is pending or claimed.
SELECT lane AS id, count(*) || ' events hold it: ' || group_concat(id) AS detail FROM events
WHERE lane IS NOT NULL AND state IN ('held', 'pending', 'claimed') AND state <> 'held'
GROUP BY lane HAVING count(*) > 1;

-- name: audit.stuck_lanes
-- Events that wait for their lane's head where there is none.
SELECT id, 'waits in lane ' || coalesce(lane, 'none') || ', which nobody holds' AS detail FROM events AS waiting
WHERE state = 'held' AND reason = 'lane' AND NOT EXISTS (
  SELECT 1 FROM events AS head
  WHERE head.lane = waiting.lane AND head.state IN ('held', 'pending', 'claimed') AND head.state <> 'held');

-- name: audit.untimed
-- Pending events without a time, ended ones without an end, others with one.
SELECT id, 'is ' || state || ', due ' || coalesce(next_fire_at, 'never') || ', ended '
  || coalesce(settled_at, 'never') AS detail
FROM events
WHERE (state = 'pending' AND next_fire_at IS NULL) OR (state IN ('held', 'pending', 'claimed')) <> (settled_at IS NULL);

-- name: audit.stray_costs
-- Costs of runs that are not there, though no retention can have taken them, or are another trigger's.
SELECT run_id AS id, 'a cost of ' || usd_nanos || ' nano-dollars without its run' AS detail FROM costs
WHERE NOT EXISTS (
  SELECT 1 FROM runs WHERE runs.id = costs.run_id AND runs.registration_id = costs.registration_id)
  AND at >= coalesce((SELECT json_extract(value, '$.runs') FROM meta WHERE key = 'horizons'), 0);

-- name: audit.miscounted
-- Triggers that count other successes than their runs show; fewer runs are fine where retention took some.
SELECT id, 'counts ' || run_count || ' successes, ' || present || ' runs are there' AS detail
FROM (
  SELECT id, run_count, created_at, (
    SELECT count(*) FROM runs
    WHERE runs.registration_id = registrations.id AND runs.state = 'succeeded' AND runs.test = 0) AS present
  FROM registrations)
WHERE run_count < present OR (run_count > present AND created_at >= coalesce((SELECT json_extract(value, '$.runs') FROM meta WHERE key = 'horizons'), 0));
