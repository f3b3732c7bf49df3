-- name: turns.next
-- A trigger's next turn (start-time fair queueing): one behind its last that waits or was served, but never behind
-- what is being served. A turn that was given up (dropped, held) costs its trigger nothing. NULL while no engine
-- serves its scope.
SELECT CASE WHEN (SELECT scope FROM registrations WHERE id = :registration_id) NOT IN (SELECT value FROM json_each((SELECT value FROM meta WHERE key = 'unserved'))) THEN max(
  coalesce((SELECT max(turn) + 1 FROM events INDEXED BY events_turns
    WHERE registration_id = :registration_id AND state = 'pending' AND turn IS NOT NULL), 0),
  coalesce((SELECT turn + 1 FROM turns WHERE registration_id = :registration_id), 0),
  (SELECT turn FROM served)) END AS turn;

-- name: turns.serve
-- Whoever comes from now on stands behind this turn.
UPDATE served SET turn = :turn WHERE turn < :turn;

-- name: turns.served
-- A trigger's own next event stands one behind this turn.
INSERT INTO turns (registration_id, turn) VALUES (:registration_id, :turn)
ON CONFLICT (registration_id) DO UPDATE SET turn = max(turns.turn, excluded.turn);

-- name: turns.due
-- Pending events whose time has come and that have no turn yet, the longest due first.
SELECT id, registration_id FROM events
WHERE state = 'pending' AND turn IS NULL AND next_fire_at <= :now ORDER BY next_fire_at, seq;

-- name: turns.take_back
-- What this engine does not serve is not claimable.
UPDATE events SET turn = NULL
WHERE state = 'pending' AND turn IS NOT NULL AND registration_id IN (SELECT id FROM registration_rows WHERE idle);

-- name: turns.unserved
-- How many events wait for an engine that serves their scope, or in a lane behind one that does.
SELECT count(*) AS events FROM events
WHERE state IN ('held', 'pending') AND (state = 'pending' OR reason = 'lane') AND (
  registration_id IN (SELECT id FROM registration_rows WHERE idle)
  OR lane IN (SELECT lane FROM events AS head WHERE head.state = 'pending' AND head.lane IS NOT NULL
    AND head.registration_id IN (SELECT id FROM registration_rows WHERE idle)));

-- name: turns.give
-- A pending event is claimable.
UPDATE events SET turn = :turn WHERE id = :id AND state = 'pending';
