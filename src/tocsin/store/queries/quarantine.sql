-- name: quarantine.insert
-- One more stray, with as much of it as is kept.
INSERT INTO quarantine (
  id, received_at, route, reason, detail, provider, connection, installation_id, registration_id, kind, event_type,
  delivery_id, given_id, occurred_at, safe_headers, safe_query, payload, body, size, stored, truncated)
VALUES (
  :id, :received_at, :route, :reason, :detail, :provider, :connection, :installation_id, :registration_id, :kind,
  :event_type, :delivery_id, :given_id, :occurred_at, :safe_headers, :safe_query, :payload, :body, :size, :stored, :truncated);

-- name: quarantine.same
-- The same delivery, kept for the same trigger and the same reason, still waiting.
SELECT id FROM quarantine
WHERE registration_id = :registration_id AND delivery_id = :delivery_id AND reason = :reason AND state = 'waiting';

-- name: quarantine.of_reason
-- How many of one reason there are for one source; NULL is the source that nobody knows.
SELECT count(*) AS kept FROM quarantine WHERE reason = :reason AND installation_id IS :installation_id;

-- name: quarantine.sizes
-- How many there are, and the room that they take.
SELECT count(*) AS kept, coalesce(sum(stored), 0) AS stored FROM quarantine;

-- name: quarantine.give_way
-- Removes the oldest but the newest, of the same reason first, and of those what is settled.
DELETE FROM quarantine WHERE seq = (
  SELECT seq FROM quarantine WHERE seq < (SELECT max(seq) FROM quarantine)
  ORDER BY reason <> :reason, state = 'waiting', seq LIMIT 1)
RETURNING reason;

-- name: quarantine.give_way_for_source
-- Removes the oldest of one reason and source, what is settled first.
DELETE FROM quarantine WHERE seq = (
  SELECT seq FROM quarantine WHERE reason = :reason AND installation_id IS :installation_id
  ORDER BY state = 'waiting', seq LIMIT 1)
RETURNING reason;

-- name: quarantine.by_id
-- One of them.
SELECT quarantine.*, registrations.name AS registration
FROM quarantine LEFT JOIN registrations ON registrations.id = quarantine.registration_id
WHERE quarantine.id = :id;

-- name: quarantine.by_prefix
-- At most two whose id begins so.
SELECT quarantine.*, registrations.name AS registration
FROM quarantine LEFT JOIN registrations ON registrations.id = quarantine.registration_id
WHERE quarantine.id >= :prefix AND quarantine.id < :beyond ORDER BY quarantine.id LIMIT 2;

-- name: quarantine.listed
-- Newest first, without what is large in them.
SELECT quarantine.seq, quarantine.id, received_at, route, reason, detail, provider, quarantine.connection,
  quarantine.installation_id, registration_id, quarantine.kind, event_type, delivery_id, given_id, occurred_at, safe_headers,
  safe_query, NULL AS payload, NULL AS body, size, stored, truncated, quarantine.state, events, settled_at,
  registrations.name AS registration
FROM quarantine LEFT JOIN registrations ON registrations.id = quarantine.registration_id
WHERE (:state IS NULL OR quarantine.state = :state) AND (:reason IS NULL OR reason = :reason)
ORDER BY quarantine.seq DESC LIMIT :limit;

-- name: quarantine.waiting
-- How many wait for somebody to look at them.
SELECT count(*) AS waiting FROM quarantine WHERE state = 'waiting';

-- name: quarantine.waiting_ids
-- Those that wait, the oldest first.
SELECT id FROM quarantine WHERE state = 'waiting' ORDER BY seq;

-- name: quarantine.settle
-- Replayed or dropped: what is large in it goes.
UPDATE quarantine SET state = :state, events = :events, settled_at = :now, body = NULL, payload = NULL, stored = 0
WHERE id = :id AND state = 'waiting';
