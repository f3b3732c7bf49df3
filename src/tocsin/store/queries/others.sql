-- name: workflows.upsert
-- A workflow's definition; the version rises when the hash changes.
INSERT INTO workflows (name, version, hash, runner, spec, max_concurrent, updated_at)
VALUES (:name, 1, :hash, :runner, :spec, :max_concurrent, :now)
ON CONFLICT (name) DO UPDATE SET
  version = version + (hash <> excluded.hash), hash = excluded.hash, runner = excluded.runner, spec = excluded.spec,
  max_concurrent = excluded.max_concurrent, updated_at = excluded.updated_at
RETURNING version;

-- name: workflows.by_name
-- One workflow.
SELECT * FROM workflows WHERE name = :name;

-- name: workflows.all
-- Every workflow, by name.
SELECT * FROM workflows ORDER BY name;

-- name: installations.insert
-- A configured source component.
INSERT INTO installations (id, name, component, component_version, props, shared, created_at)
VALUES (:id, :name, :component, :component_version, :props, :shared, :created_at);

-- name: installations.shared
-- The installation of a `[sources]` table, whether it feeds anybody or not.
SELECT id FROM installations WHERE name = :name AND component = :component AND shared = 1;

-- name: installations.feeding
-- How many active triggers an installation feeds.
SELECT count(*) AS feeding FROM registrations
WHERE installation_id = :id AND enabled = 1 AND removed_at IS NULL;

-- name: installations.by_id
-- One installation.
SELECT * FROM installations WHERE id = :id;

-- name: installations.of_sources
-- The `[sources]` tables of one component, by name.
SELECT * FROM installations WHERE component = :component AND shared = 1 ORDER BY name;

-- name: installations.update_props
-- Another setting of the same component; its cursor stays.
UPDATE installations SET props = :props WHERE id = :id;

-- name: installations.rebind
-- Of this version of its component.
UPDATE installations SET component_version = :version WHERE id = :id;

-- name: installations.cursor
-- How far a source has read; NULL before its first time.
SELECT cursor FROM installations WHERE id = :id;

-- name: installations.move_cursor
-- A source has read on.
UPDATE installations SET cursor = :cursor WHERE id = :id;

-- name: installations.trouble
-- What ails a source; NULL when it is well.
UPDATE installations SET last_error = :error WHERE id = :id;

-- name: installations.rate_at
-- The theoretical arrival time of a source that may not tell as much as it likes.
SELECT rate_at FROM installations WHERE id = :id;

-- name: installations.move_rate
-- One more was let through.
UPDATE installations SET rate_at = :at WHERE id = :id;

-- name: tokens.put
-- The one token of a trigger.
INSERT INTO tokens (hash, registration_id, created_at) VALUES (:hash, :registration_id, :now)
ON CONFLICT (registration_id) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at;

-- name: tokens.of_registration
-- A trigger's token, hashed.
SELECT hash FROM tokens WHERE registration_id = :registration_id;

-- name: deliveries.insert
-- One thing that arrived.
INSERT INTO deliveries (id, installation_id, kind, delivery_id, body, envelope, received_at)
VALUES (:id, :installation_id, :kind, :delivery_id, :body, :envelope, :received_at);

-- name: deliveries.of_event
-- The delivery an event was made from.
SELECT deliveries.*, events.schema_status
FROM events JOIN deliveries ON deliveries.id = events.delivery WHERE events.id = :event_id;

-- name: seen.find
-- What the ledger knows of a hash.
SELECT * FROM seen WHERE hash = :hash;

-- name: seen.insert
-- A hash seen for the first time.
INSERT INTO seen (hash, registration_id, event_id, verdict, first_seen_at, last_seen_at)
VALUES (:hash, :registration_id, :event_id, :verdict, :now, :now);

-- name: seen.touch
-- Seen again.
UPDATE seen SET last_seen_at = :now WHERE hash = :hash;

-- name: seen.forget_filtered
-- A hash that a filter turned away counts as never seen.
DELETE FROM seen WHERE hash = :hash AND verdict = 'filtered' AND event_id IS NULL;

-- name: seen.renew
-- A forgotten id counts as new once more.
UPDATE seen SET event_id = :event_id, verdict = 'accepted', generation = :generation, last_seen_at = :now
WHERE hash = :hash;

-- name: seen.take_turn
-- Now the most recently seen id of its trigger.
UPDATE seen SET turn = 1 + coalesce(
  (SELECT max(turn) FROM seen WHERE registration_id = :registration_id AND turn IS NOT NULL), 0)
WHERE hash = :hash;

-- name: seen.newer
-- How many of a trigger's ids were seen after this turn; stops counting at the limit.
SELECT count(*) AS newer FROM (
  SELECT 1 FROM seen INDEXED BY seen_turn
  WHERE registration_id = :registration_id AND turn IS NOT NULL AND turn > :turn LIMIT :limit);

-- name: seen.give_turns
-- The most recently seen ids of a trigger take the highest turns, in the order in which they were seen.
UPDATE seen SET turn = recent.turn FROM (
  SELECT hash, row_number() OVER (ORDER BY last_seen_at, turn, hash) + (
    SELECT coalesce(max(turn), 0) FROM seen WHERE registration_id = :registration_id AND turn IS NOT NULL) AS turn
  FROM (
    SELECT hash, last_seen_at, turn FROM seen WHERE registration_id = :registration_id
    ORDER BY last_seen_at DESC, turn DESC, hash DESC LIMIT :limit)) AS recent
WHERE seen.hash = recent.hash;

-- name: suspects.put
-- An event that its trigger's own run may have brought about.
UPDATE events SET suspect_run = :run_id, changed_at = :changed_at WHERE id = :event_id;

-- name: suspects.of_event
-- The run that is suspected of an event.
SELECT suspect_run, changed_at FROM events WHERE id = :event_id;

-- name: files.of_installation
-- Every path of an installation.
SELECT * FROM files WHERE installation_id = :installation_id;

-- name: files.put
-- A path as last settled.
INSERT INTO files (installation_id, path, generation, size, mtime_ns, inode, state, content)
VALUES (:installation_id, :path, :generation, :size, :mtime_ns, :inode, :state, :content)
ON CONFLICT (installation_id, path) DO UPDATE SET
  generation = excluded.generation, size = excluded.size, mtime_ns = excluded.mtime_ns, inode = excluded.inode,
  state = excluded.state, content = excluded.content;

-- name: unsettled.of_installation
-- Paths on the move.
SELECT path, since_at FROM unsettled WHERE installation_id = :installation_id;

-- name: unsettled.put
-- A path that has begun to move.
INSERT INTO unsettled (installation_id, path, since_at) VALUES (:installation_id, :path, :since_at)
ON CONFLICT (installation_id, path) DO UPDATE SET since_at = excluded.since_at;

-- name: unsettled.end
-- A path at rest, or given up.
DELETE FROM unsettled WHERE installation_id = :installation_id AND path = :path;

-- name: unsettled.clear
-- The installation starts afresh.
DELETE FROM unsettled WHERE installation_id = :installation_id;

-- name: journal.insert
-- One thing worth explaining.
INSERT INTO journal (at, registration_id, event_id, what, reason, detail)
VALUES (:at, :registration_id, :event_id, :what, :reason, :detail);

-- name: journal.of_event
-- An event's story, oldest first.
SELECT * FROM journal WHERE event_id = :event_id ORDER BY seq;

-- name: journal.last_disarmed
-- When and why a trigger was last turned off.
SELECT * FROM journal WHERE registration_id = :registration_id AND what = 'disarmed' ORDER BY seq DESC LIMIT 1;

-- name: meta.put
-- One fact about this home.
INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: meta.get
-- One fact about this home.
SELECT value FROM meta WHERE key = :key;
