-- name: pauses.hold
-- Holds back all of a trigger that is claimable, waits for its time, or waits for its turn in a lane.
UPDATE events INDEXED BY events_waiting SET state = 'held', reason = 'paused', turn = NULL
WHERE registration_id = :registration_id AND state IN ('held', 'pending') AND (state = 'pending' OR reason = 'lane')
RETURNING id, lane;

-- name: pauses.release
-- What a pause held waits for its turn in its lane, or for its time, or is claimable.
UPDATE events INDEXED BY events_waiting SET
  state = CASE WHEN lane IS NULL THEN 'pending' ELSE 'held' END,
  reason = CASE WHEN lane IS NULL THEN NULL ELSE 'lane' END,
  next_fire_at = CASE WHEN lane IS NULL THEN max(coalesce(next_fire_at, :now), :now) ELSE next_fire_at END
WHERE registration_id = :registration_id AND state IN ('held', 'pending') AND state = 'held' AND reason = 'paused'
RETURNING id, lane;

-- name: pauses.next_end
-- The earliest end of all pauses.
SELECT min(paused_until) AS paused_until FROM registrations WHERE paused_until IS NOT NULL AND removed_at IS NULL;

-- name: pauses.over
-- Triggers whose pause is over by itself, the first to end first.
SELECT * FROM registration_rows
WHERE paused_until IS NOT NULL AND removed_at IS NULL AND paused_until <= :now ORDER BY paused_until;

-- name: pauses.begin
-- Nothing of a trigger happens until then, or until it is resumed; a second pause moves the end of the first.
UPDATE registrations SET paused_at = coalesce(paused_at, :now), paused_until = :until WHERE id = :id;

-- name: pauses.end
-- A trigger goes on.
UPDATE registrations SET paused_at = NULL, paused_until = NULL WHERE id = :id AND paused_at IS NOT NULL;

-- name: pauses.held
-- How many events wait for the end of a pause that goes on.
SELECT count(*) AS events FROM events JOIN registrations ON registrations.id = events.registration_id
WHERE events.state IN ('held', 'pending') AND events.state = 'held' AND events.reason = 'paused'
  AND (registrations.paused_until IS NULL OR registrations.paused_until > :now);
