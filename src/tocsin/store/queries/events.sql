-- name: events.insert
-- A new event; born held, pending or skipped (a claim moves it on).
INSERT INTO events (
  id, registration_id, workflow, delivery, delivery_id, kind, origin, idempotency_key, occurred_at, planned_at,
  missed, state, reason, count, lane, blocked_by, next_fire_at, turn, cause_run, cause_lineage,
  replay_of, schema_status, created_at, settled_at)
VALUES (
  :id, :registration_id, :workflow, :delivery, :delivery_id, :kind, :origin, :idempotency_key, :occurred_at,
  :planned_at, :missed, :state, :reason, :count, :lane, :blocked_by, :next_fire_at, :turn, :cause_run,
  :cause_lineage, :replay_of, :schema_status, :created_at, :settled_at);

-- name: events.by_id
-- One event.
SELECT * FROM event_rows WHERE id = :id;

-- name: events.by_prefix
-- The events an id prefix fits, two at most (one is an answer, two are ambiguous).
SELECT * FROM event_rows WHERE id >= :prefix AND id < :beyond ORDER BY id LIMIT 2;

-- name: events.listed
-- Newest first; each filter that is NULL does not filter.
SELECT * FROM event_rows
WHERE (:registration_id IS NULL OR registration_id = :registration_id)
  AND (:state IS NULL OR state = :state)
  AND (:since IS NULL OR created_at >= :since)
ORDER BY seq DESC LIMIT :limit;

-- name: events.sent
-- What senders gave a trigger: its last events that nobody made by hand, with their deliveries' ids.
SELECT id, delivery_id FROM events
WHERE registration_id = :registration_id AND origin = 'live' ORDER BY seq DESC LIMIT :limit;

-- name: events.after
-- Events recorded after a seq, oldest first, for followers.
SELECT * FROM event_rows
WHERE seq > :seq AND (:registration_id IS NULL OR registration_id = :registration_id)
  AND (:state IS NULL OR state = :state)
ORDER BY seq LIMIT :limit;

-- name: events.states
-- How many events stand in each state.
SELECT state, count(*) AS events FROM events GROUP BY state;

-- name: events.unfinished
-- How many events are still to run or run.
SELECT count(*) AS events FROM events WHERE state IN ('held', 'pending', 'claimed');

-- name: events.in_lane
-- What one trigger still has in a lane, the last to come first.
SELECT id, state FROM events
WHERE lane = :lane AND registration_id = :registration_id AND state IN ('held', 'pending', 'claimed')
ORDER BY seq DESC;

-- name: events.lane_next
-- The event that has waited longest in a lane; what a pause holds is passed over.
SELECT id FROM events
WHERE lane = :lane AND state IN ('held', 'pending', 'claimed') AND state = 'held' AND reason = 'lane'
ORDER BY seq LIMIT 1;

-- name: events.lane_busy
-- The event that holds a lane: pending or claimed.
SELECT id FROM events
WHERE lane = :lane AND state IN ('held', 'pending', 'claimed') AND state IN ('pending', 'claimed') LIMIT 1;

-- name: events.promote
-- A lane's next event is claimable, at once or when its own wait is over.
UPDATE events SET
  state = 'pending', reason = NULL, turn = NULL, next_fire_at = max(coalesce(next_fire_at, :now), :now)
WHERE id = :id AND state = 'held';

-- name: events.headless_lanes
-- Lanes in which somebody waits and nobody holds the lane.
SELECT DISTINCT lane FROM events AS waiting
WHERE lane IS NOT NULL AND state IN ('held', 'pending', 'claimed') AND state = 'held' AND reason = 'lane'
  AND NOT EXISTS (
    SELECT 1 FROM events AS head
    WHERE head.lane = waiting.lane AND head.state IN ('held', 'pending', 'claimed') AND head.state <> 'held');

-- name: events.skipped_behind
-- The skipped row of a trigger behind one blocker.
SELECT id FROM events WHERE registration_id = :registration_id AND blocked_by = :blocked_by AND state = 'skipped' LIMIT 1;

-- name: events.skip_more
-- A skipped row stands for more occurrences.
UPDATE events SET count = count + :count, planned_at = :planned_at, settled_at = :now WHERE id = :id;

-- name: events.waiting_workflows
-- Workflows with a claimable event: one index seek each, however many events wait.
WITH RECURSIVE waiting (workflow) AS (
  SELECT min(workflow) FROM events INDEXED BY events_ready WHERE state = 'pending' AND turn IS NOT NULL
  UNION ALL
  SELECT (SELECT min(events.workflow) FROM events INDEXED BY events_ready
    WHERE state = 'pending' AND turn IS NOT NULL AND events.workflow > waiting.workflow)
  FROM waiting WHERE waiting.workflow IS NOT NULL)
SELECT workflow FROM waiting WHERE workflow IS NOT NULL;

-- name: events.claimed_by_workflow
-- Seats in use: live claims, recomputed each time.
SELECT workflow, count(*) AS claims FROM events WHERE state = 'claimed' GROUP BY workflow;

-- name: events.claimed_by_registration
-- Claims of one trigger.
SELECT count(*) AS claims FROM events INDEXED BY events_claimed
WHERE state = 'claimed' AND registration_id = :registration_id;

-- name: events.others
-- Another event of a trigger that waits or runs.
SELECT id FROM (
  SELECT id FROM events INDEXED BY events_waiting
  WHERE registration_id = :registration_id AND state IN ('held', 'pending') AND id <> :id
  UNION ALL
  SELECT id FROM events INDEXED BY events_claimed
  WHERE state = 'claimed' AND registration_id = :registration_id AND id <> :id) LIMIT 1;

-- name: events.ready
-- A workflow's claimable events by turn; none whose trigger has all its successes under way.
-- With an origin: only events of that origin, and those that stand before one in its lane.
SELECT events.*, registrations.name AS registration
FROM events JOIN registrations ON registrations.id = events.registration_id
WHERE events.state = 'pending' AND events.turn IS NOT NULL AND events.workflow = :workflow
  AND (:origin IS NULL OR events.origin = :origin OR EXISTS (
    SELECT 1 FROM events AS behind
    WHERE behind.lane = events.lane AND behind.state IN ('held', 'pending', 'claimed') AND behind.origin = :origin))
  AND (registrations.max_runs IS NULL OR registrations.max_runs > registrations.runs_since_armed + (
    SELECT count(*) FROM events AS taken INDEXED BY events_claimed
    WHERE taken.state = 'claimed' AND taken.registration_id = registrations.id))
ORDER BY events.turn, events.seq LIMIT :limit;

-- name: events.next_ready
-- When the queue is to be looked at: at once (0) while something is claimable, else when the first wait ends.
SELECT CASE
  WHEN EXISTS (SELECT 1 FROM events INDEXED BY events_ready WHERE state = 'pending' AND turn IS NOT NULL) THEN 0
  ELSE (SELECT min(next_fire_at) FROM events INDEXED BY events_due WHERE state = 'pending' AND turn IS NULL)
END AS next_fire_at;

-- name: events.unstick
-- The clock was set back: what was due is due, and no retry waits longer than the longest back-off, in a pause neither.
UPDATE events SET next_fire_at = :now
WHERE state IN ('held', 'pending') AND turn IS NULL
  AND (next_fire_at > :latest OR (state = 'pending' AND reason IS NULL AND next_fire_at > :now));

-- name: events.claim
-- An owner takes a ready event.
UPDATE events SET
  state = 'claimed', reason = NULL, attempts = attempts + 1, claim_id = :claim_id, claim_owner = :owner,
  claimed_at = :now, run_id = :run_id, next_fire_at = NULL, turn = NULL
WHERE id = :id AND state = 'pending';

-- name: events.claims
-- Every claim there is.
SELECT id, registration_id, claim_id, claim_owner, claimed_at, run_id, cancel_reason FROM events
WHERE state = 'claimed';

-- name: events.in_lanes
-- Who holds each lane, then who waits in it, in their order; what a pause holds stands aside.
SELECT lane, registration_id, claimed_at, next_fire_at FROM events
WHERE lane IS NOT NULL AND state IN ('held', 'pending', 'claimed') AND (state <> 'held' OR reason = 'lane')
ORDER BY lane, state = 'held', seq;

-- name: events.settle
-- The end of a claimed event, if it is still this claim's.
UPDATE events SET
  state = :state, reason = :reason, settled_at = :now, claim_id = NULL, claim_owner = NULL, claimed_at = NULL
WHERE id = :id AND claim_id = :claim_id AND state = 'claimed';

-- name: events.retry
-- Back to the queue, or held, if it is still this claim's; `given_back` is 1 for an attempt that does not count.
UPDATE events SET
  state = :state, reason = :reason, next_fire_at = :next_fire_at, attempts = attempts - :given_back,
  claim_id = NULL, claim_owner = NULL, claimed_at = NULL
WHERE id = :id AND claim_id = :claim_id AND state = 'claimed';

-- name: events.hold
-- Holds back what was claimable or waited for its time.
UPDATE events SET state = 'held', reason = :reason, turn = NULL WHERE id = :id AND state = 'pending';

-- name: events.defer
-- What is pending of a trigger waits until then.
UPDATE events INDEXED BY events_waiting SET next_fire_at = :at, reason = :reason, turn = NULL
WHERE registration_id = :registration_id AND state IN ('held', 'pending') AND state = 'pending' AND next_fire_at < :at;

-- name: events.put_off
-- One pending event waits until then.
UPDATE events SET next_fire_at = :at, reason = :reason, turn = NULL WHERE id = :id AND state = 'pending';

-- name: events.resume
-- What was put off for this reason is due.
UPDATE events INDEXED BY events_waiting SET next_fire_at = :now, reason = NULL
WHERE registration_id = :registration_id AND state IN ('held', 'pending') AND state = 'pending'
  AND reason = :reason AND turn IS NULL AND next_fire_at > :now;

-- name: events.waiting_for
-- Something pending of a trigger that waits for its time, for this reason.
SELECT id FROM events INDEXED BY events_waiting
WHERE registration_id = :registration_id AND state IN ('held', 'pending') AND state = 'pending'
  AND reason = :reason AND turn IS NULL AND next_fire_at > :now LIMIT 1;

-- name: events.drop
-- Takes one waiting event out of the queue.
UPDATE events SET state = 'dropped', reason = :reason, settled_at = :now, next_fire_at = NULL, turn = NULL
WHERE id = :id AND state IN ('held', 'pending');

-- name: events.drop_waiting
-- Takes all waiting events of a trigger out of the queue.
UPDATE events INDEXED BY events_waiting SET
  state = 'dropped', reason = :reason, settled_at = :now, next_fire_at = NULL, turn = NULL
WHERE registration_id = :registration_id AND state IN ('held', 'pending')
RETURNING id, lane;

-- name: events.last_dropped
-- What the last disarm dropped, then or when a run that was under way would have been tried again.
-- What had another reason stays dropped.
-- has_payload: 0 for what has been given up since.
SELECT id, lane, (SELECT pruned_at IS NULL FROM deliveries WHERE deliveries.id = events.delivery) AS has_payload
FROM events
WHERE registration_id = :registration_id AND state = 'dropped'
  AND reason IN ('failures', 'expired', 'max_runs', 'budget', 'loop', 'user', 'config') AND settled_at >= (
  SELECT max(at) FROM journal WHERE registration_id = :registration_id AND what = 'disarmed')
ORDER BY seq;

-- name: events.requeue
-- A dropped event waits again, behind its lane's head if there is one.
UPDATE events SET state = :state, reason = :reason, settled_at = NULL, next_fire_at = :next_fire_at
WHERE id = :id AND state = 'dropped';

-- name: events.request_cancel
-- A running event is to be stopped; asked twice, the first time counts.
UPDATE events SET cancel_requested_at = :now, cancel_reason = :reason
WHERE id = :id AND state = 'claimed' AND cancel_requested_at IS NULL;

-- name: events.hurry
-- What waits for its time is due.
UPDATE events SET next_fire_at = :now WHERE id = :id AND state = 'pending';

-- name: events.revive
-- A failed event has one more attempt, behind its lane's head if there is one.
UPDATE events SET
  state = :state, reason = :reason, settled_at = NULL, next_fire_at = :next_fire_at, attempt_limit = attempts + 1
WHERE id = :id AND state = 'failed';
