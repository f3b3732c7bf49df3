-- name: events.insert
-- A new event; born held, pending or skipped (a claim moves it on).
INSERT INTO events (
  id, registration_id, workflow, delivery, delivery_id, kind, origin, idempotency_key, occurred_at, planned_at,
  missed, state, reason, count, lane, blocked_by, next_fire_at, cause_run, cause_lineage, replay_of,
  created_at, settled_at)
VALUES (
  :id, :registration_id, :workflow, :delivery, :delivery_id, :kind, :origin, :idempotency_key, :occurred_at,
  :planned_at, :missed, :state, :reason, :count, :lane, :blocked_by, :next_fire_at, :cause_run, :cause_lineage,
  :replay_of, :created_at, :settled_at);

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

-- name: events.lane_next
-- The event that has waited longest in a lane.
SELECT id FROM events
WHERE lane = :lane AND state IN ('held', 'pending', 'claimed') AND state = 'held' ORDER BY seq LIMIT 1;

-- name: events.lane_busy
-- The event that holds a lane: pending or claimed.
SELECT id FROM events
WHERE lane = :lane AND state IN ('held', 'pending', 'claimed') AND state IN ('pending', 'claimed') LIMIT 1;

-- name: events.promote
-- A lane's next event is claimable.
UPDATE events SET state = 'pending', reason = NULL, next_fire_at = :now WHERE id = :id AND state = 'held';

-- name: events.headless_lanes
-- Lanes in which somebody waits and nobody holds the lane.
SELECT DISTINCT lane FROM events AS waiting
WHERE lane IS NOT NULL AND state IN ('held', 'pending', 'claimed') AND state = 'held'
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
-- Workflows with a pending event: one index seek each, however many events wait.
WITH RECURSIVE waiting (workflow) AS (
  SELECT min(workflow) FROM events INDEXED BY events_ready WHERE state = 'pending'
  UNION ALL
  SELECT (SELECT min(events.workflow) FROM events INDEXED BY events_ready
    WHERE state = 'pending' AND events.workflow > waiting.workflow)
  FROM waiting WHERE waiting.workflow IS NOT NULL)
SELECT workflow FROM waiting WHERE workflow IS NOT NULL;

-- name: events.claimed_by_workflow
-- Seats in use: live claims, recomputed each time.
SELECT workflow, count(*) AS claims FROM events WHERE state = 'claimed' GROUP BY workflow;

-- name: events.claimed_by_registration
-- Claims of one trigger.
SELECT count(*) AS claims FROM events INDEXED BY events_claimed
WHERE state = 'claimed' AND registration_id = :registration_id;

-- name: events.ready
-- A workflow's ready events, the longest due first; none whose trigger has all its successes under way.
-- With an origin: only events of that origin, and those that stand before one in its lane.
SELECT events.*, registrations.name AS registration
FROM events JOIN registrations ON registrations.id = events.registration_id
WHERE events.state = 'pending' AND events.workflow = :workflow AND events.next_fire_at <= :now
  AND (:origin IS NULL OR events.origin = :origin OR EXISTS (
    SELECT 1 FROM events AS behind
    WHERE behind.lane = events.lane AND behind.state IN ('held', 'pending', 'claimed') AND behind.origin = :origin))
  AND (registrations.max_runs IS NULL OR registrations.max_runs > registrations.runs_since_armed + (
    SELECT count(*) FROM events AS taken INDEXED BY events_claimed
    WHERE taken.state = 'claimed' AND taken.registration_id = registrations.id))
ORDER BY events.next_fire_at, events.seq LIMIT :limit;

-- name: events.next_ready
-- The earliest instant at which a pending event is claimable: one index seek for each workflow.
WITH RECURSIVE waiting (workflow) AS (
  SELECT min(workflow) FROM events INDEXED BY events_ready WHERE state = 'pending'
  UNION ALL
  SELECT (SELECT min(events.workflow) FROM events INDEXED BY events_ready
    WHERE state = 'pending' AND events.workflow > waiting.workflow)
  FROM waiting WHERE waiting.workflow IS NOT NULL)
SELECT min((SELECT min(events.next_fire_at) FROM events INDEXED BY events_ready
  WHERE state = 'pending' AND events.workflow = waiting.workflow)) AS next_fire_at
FROM waiting WHERE workflow IS NOT NULL;

-- name: events.unstick
-- The clock was set back: what was due is due, and no retry waits longer than the longest back-off.
UPDATE events SET next_fire_at = :now
WHERE state = 'pending' AND (next_fire_at > :latest OR (reason IS NULL AND next_fire_at > :now));

-- name: events.claim
-- An owner takes a ready event.
UPDATE events SET
  state = 'claimed', reason = NULL, attempts = attempts + 1, claim_id = :claim_id, claim_owner = :owner,
  claimed_at = :now, run_id = :run_id, next_fire_at = NULL
WHERE id = :id AND state = 'pending';

-- name: events.claims
-- Every claim there is.
SELECT id, registration_id, claim_id, claim_owner, claimed_at, run_id, cancel_requested_at FROM events
WHERE state = 'claimed';

-- name: events.settle
-- The end of a claimed event, if it is still this claim's.
UPDATE events SET
  state = :state, reason = :reason, settled_at = :now, claim_id = NULL, claim_owner = NULL, claimed_at = NULL
WHERE id = :id AND claim_id = :claim_id AND state = 'claimed';

-- name: events.retry
-- Back to the queue, if it is still this claim's; `given_back` is 1 for an attempt that does not count.
UPDATE events SET
  state = 'pending', reason = :reason, next_fire_at = :next_fire_at, attempts = attempts - :given_back,
  claim_id = NULL, claim_owner = NULL, claimed_at = NULL
WHERE id = :id AND claim_id = :claim_id AND state = 'claimed';

-- name: events.drop
-- Takes one waiting event out of the queue.
UPDATE events SET state = 'dropped', reason = :reason, settled_at = :now, next_fire_at = NULL
WHERE id = :id AND state IN ('held', 'pending');

-- name: events.drop_waiting
-- Takes all waiting events of a trigger out of the queue.
UPDATE events INDEXED BY events_waiting SET state = 'dropped', reason = :reason, settled_at = :now, next_fire_at = NULL
WHERE registration_id = :registration_id AND state IN ('held', 'pending')
RETURNING id, lane;

-- name: events.last_dropped
-- What the last disarm dropped, at the instant of its journal row; what a person cancelled then stays so.
SELECT id, lane FROM events
WHERE registration_id = :registration_id AND state = 'dropped' AND reason <> 'cancelled' AND settled_at = (
  SELECT max(at) FROM journal WHERE registration_id = :registration_id AND what = 'disarmed')
ORDER BY seq;

-- name: events.requeue
-- A dropped event waits again, behind its lane's head if there is one.
UPDATE events SET state = :state, reason = :reason, settled_at = NULL, next_fire_at = :next_fire_at
WHERE id = :id AND state = 'dropped';

-- name: events.request_cancel
-- A person wants a running event stopped; asked twice, the first time counts.
UPDATE events SET cancel_requested_at = :now
WHERE id = :id AND state = 'claimed' AND cancel_requested_at IS NULL;

-- name: events.hurry
-- What waits for its time is due.
UPDATE events SET next_fire_at = :now WHERE id = :id AND state = 'pending';

-- name: events.revive
-- A failed event has one more attempt, behind its lane's head if there is one.
UPDATE events SET
  state = :state, reason = :reason, settled_at = NULL, next_fire_at = :next_fire_at, attempt_limit = attempts + 1
WHERE id = :id AND state = 'failed';
