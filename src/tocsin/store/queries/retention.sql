-- name: retention.old_payloads
-- Deliveries whose payload is due and whose events have all ended, the longest there first.
SELECT id AS key, received_at AS place FROM deliveries
WHERE pruned_at IS NULL AND received_at < :cutoff AND received_at >= :after AND NOT EXISTS (
  SELECT 1 FROM events WHERE events.delivery = deliveries.id AND events.state IN ('held', 'pending', 'claimed'))
ORDER BY received_at LIMIT :limit;

-- name: retention.give_up_payloads
-- The row stays without what arrived; an event that has come back meanwhile keeps its payload.
UPDATE deliveries SET body = NULL, envelope = '{}', pruned_at = :now
WHERE id IN (SELECT value FROM json_each(:keys)) AND pruned_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM events WHERE events.delivery = deliveries.id AND events.state IN ('held', 'pending', 'claimed'));

-- name: retention.old_runs
-- The next runs, but the last one; due: ended long ago, as has their event; young: due is nothing behind it.
SELECT seq AS key, seq AS place, started_at BETWEEN :cutoff AND :now AS young,
  finished_at < :cutoff AND NOT EXISTS (
    SELECT 1 FROM events WHERE events.id = runs.event_id AND events.state IN ('held', 'pending', 'claimed')) AS due
FROM runs WHERE seq > :after AND seq < (SELECT max(seq) FROM runs) ORDER BY seq LIMIT :limit;

-- name: retention.drop_runs
-- Removes them, unless their event has come back meanwhile.
DELETE FROM runs
WHERE seq IN (SELECT value FROM json_each(:keys)) AND finished_at < :cutoff AND NOT EXISTS (
  SELECT 1 FROM events WHERE events.id = runs.event_id AND events.state IN ('held', 'pending', 'claimed'))
RETURNING log;

-- name: retention.old_events
-- The next events, but the last one; due: ended long ago, and no runs are left.
SELECT seq AS key, seq AS place, created_at BETWEEN :cutoff AND :now AS young,
  settled_at < :cutoff AND created_at < :cutoff
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.event_id = events.id) AS due
FROM events WHERE seq > :after AND seq < (SELECT max(seq) FROM events) ORDER BY seq LIMIT :limit;

-- name: retention.drop_events
-- Removes them, unless they have come back meanwhile.
DELETE FROM events
WHERE seq IN (SELECT value FROM json_each(:keys)) AND settled_at < :cutoff
  AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.event_id = events.id)
RETURNING delivery;

-- name: retention.drop_deliveries
-- Removes those of these that no event was made from any more.
DELETE FROM deliveries
WHERE id IN (SELECT value FROM json_each(:keys))
  AND NOT EXISTS (SELECT 1 FROM events WHERE events.delivery = deliveries.id);

-- name: retention.old_hashes
-- Hashes that are due and whose events are gone, the longest unseen first.
SELECT hash AS key, last_seen_at AS place FROM seen
WHERE last_seen_at < :cutoff AND last_seen_at >= :after
  AND NOT EXISTS (SELECT 1 FROM events WHERE events.id = seen.event_id)
  AND (generation = 1 OR last_seen_at < coalesce((
    SELECT created_at FROM events WHERE events.registration_id = seen.registration_id ORDER BY seq LIMIT 1), :cutoff))
ORDER BY last_seen_at LIMIT :limit;

-- name: retention.drop_hashes
-- Removes them, unless they were seen meanwhile.
DELETE FROM seen WHERE hash IN (SELECT value FROM json_each(:keys)) AND last_seen_at < :cutoff;

-- name: retention.old_strays
-- What has been quarantined for long enough, the longest there first.
SELECT seq AS key, received_at AS place FROM quarantine
WHERE received_at < :cutoff AND received_at >= :after ORDER BY received_at LIMIT :limit;

-- name: retention.drop_strays
-- Removes them.
DELETE FROM quarantine WHERE seq IN (SELECT value FROM json_each(:keys));

-- name: retention.old_entries
-- The next journal rows, but the last one; not due: what tells of a present event, or why a trigger is off or paused.
SELECT seq AS key, seq AS place, at BETWEEN :cutoff AND :now AS young,
  at < :cutoff
  AND NOT EXISTS (SELECT 1 FROM events WHERE events.id = journal.event_id)
  AND NOT EXISTS (
    SELECT 1 FROM registrations
    WHERE registrations.id = journal.registration_id AND registrations.removed_at IS NULL
      AND ((journal.what = 'disarmed' AND registrations.enabled = 0)
        OR (journal.what = 'paused' AND registrations.paused_at IS NOT NULL))
      AND journal.seq = (
        SELECT max(later.seq) FROM journal AS later
        WHERE later.registration_id = journal.registration_id AND later.what = journal.what)) AS due
FROM journal WHERE seq > :after AND seq < (SELECT max(seq) FROM journal) ORDER BY seq LIMIT :limit;

-- name: retention.drop_entries
-- Removes them.
DELETE FROM journal WHERE seq IN (SELECT value FROM json_each(:keys)) AND at < :cutoff;

-- name: retention.known_logs
-- Which of these runs have a row.
SELECT id FROM runs WHERE id IN (SELECT value FROM json_each(:keys));

-- name: retention.free_bytes
-- Room in the file that nothing uses.
SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size;

-- name: retention.give_back
-- Shortens the file by one free page; the driver would step a longer one no further.
PRAGMA incremental_vacuum(1);
