-- name: turns.next
-- A trigger's next turn: one more than its last, but never behind what has been served (start-time fair queueing).
INSERT INTO turns (registration_id, turn) VALUES (:registration_id, (SELECT turn FROM served))
ON CONFLICT (registration_id) DO UPDATE SET turn = max(turns.turn + 1, (SELECT turn FROM served))
RETURNING turn;

-- name: turns.serve
-- Whoever comes from now on stands behind this turn.
UPDATE served SET turn = :turn WHERE turn < :turn;

-- name: turns.forget
-- A trigger has used none of the turns that it was given last: its next one is the turn that is served then.
DELETE FROM turns WHERE registration_id = :registration_id;

-- name: turns.due
-- Pending events whose time has come and that have no turn yet, the longest due first.
SELECT id, registration_id FROM events
WHERE state = 'pending' AND turn IS NULL AND next_fire_at <= :now ORDER BY next_fire_at, seq;

-- name: turns.give
-- A pending event is claimable.
UPDATE events SET turn = :turn WHERE id = :id AND state = 'pending';
