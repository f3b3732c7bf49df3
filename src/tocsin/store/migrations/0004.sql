-- Sources that feed several triggers, filters and schemas of payloads, and what could not be told apart.

ALTER TABLE installations ADD COLUMN shared INTEGER NOT NULL DEFAULT 0 CHECK (shared IN (0, 1));

-- One `[sources]` table is one installation, also while it feeds nobody; a name may become another kind.
CREATE UNIQUE INDEX installations_shared ON installations (name, component) WHERE shared = 1;

ALTER TABLE registrations ADD COLUMN scope TEXT NOT NULL DEFAULT 'cloud' CHECK (scope IN ('desktop', 'cloud'));
UPDATE registrations SET scope = 'desktop' WHERE kind = 'file';

-- What a file held; and paths on the move, so that a crash forgets none of them.
ALTER TABLE files ADD COLUMN content BLOB;

CREATE TABLE unsettled (
  installation_id TEXT NOT NULL REFERENCES installations (id),
  path BLOB NOT NULL,
  since_at INTEGER NOT NULL,
  PRIMARY KEY (installation_id, path)
) STRICT, WITHOUT ROWID;

-- How often a source may tell of something: its theoretical arrival time (GCRA).
ALTER TABLE installations ADD COLUMN rate_at INTEGER;

-- What a trigger wants to be told of: a CEL expression, and a JSON Schema of the payload.
ALTER TABLE registrations ADD COLUMN filter TEXT;
ALTER TABLE registrations ADD COLUMN schema TEXT CHECK (schema IS NULL OR json_valid(schema));
-- One delivery may be judged by the schemas of several triggers.
ALTER TABLE events ADD COLUMN schema_status TEXT NOT NULL DEFAULT 'unchecked'
  CHECK (schema_status IN ('unchecked', 'valid', 'invalid'));

-- What could not be verified, attributed or taken. Only what waits still has its body and payload.
CREATE TABLE quarantine (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  received_at INTEGER NOT NULL,
  route TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN (
    'unknown_topic', 'failed_verification', 'missing_subscription', 'ambiguous_attribution', 'schema_invalid',
    'overflow', 'stale_policy', 'flood')),
  detail TEXT,
  provider TEXT,
  connection TEXT,
  installation_id TEXT REFERENCES installations (id),
  registration_id TEXT REFERENCES registrations (id),
  kind TEXT NOT NULL CHECK (kind IN ('schedule', 'poll', 'file', 'webhook', 'run', 'manual')),
  event_type TEXT,
  delivery_id TEXT NOT NULL,
  given_id TEXT,
  occurred_at INTEGER NOT NULL,
  safe_headers TEXT NOT NULL CHECK (json_valid(safe_headers)),
  safe_query TEXT NOT NULL CHECK (json_valid(safe_query)),
  payload TEXT CHECK (payload IS NULL OR json_valid(payload)),
  body BLOB,
  size INTEGER NOT NULL,
  stored INTEGER NOT NULL,
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'replayed', 'dropped')),
  events TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(events)),
  settled_at INTEGER,
  CHECK ((state = 'waiting') = (settled_at IS NULL))
) STRICT;

CREATE INDEX quarantine_reason ON quarantine (reason, installation_id, state, stored);
CREATE INDEX quarantine_age ON quarantine (received_at);
CREATE INDEX quarantine_delivery ON quarantine (registration_id, delivery_id) WHERE state = 'waiting';
-- The run of its own trigger during which an event's file changed, and when.
ALTER TABLE events ADD COLUMN suspect_run TEXT;
ALTER TABLE events ADD COLUMN changed_at INTEGER;

DROP VIEW registration_rows;
CREATE VIEW registration_rows AS
  SELECT registrations.*, installations.props, installations.last_error AS source_error,
    CASE installations.shared WHEN 1 THEN installations.name END AS source,
    registrations.scope IN (SELECT value FROM json_each((SELECT value FROM meta WHERE key = 'unserved'))) AS idle
  FROM registrations JOIN installations ON installations.id = registrations.installation_id;
