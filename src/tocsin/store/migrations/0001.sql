-- The first shape: workflows, registrations, the queue, its ledger and its history.
-- Times are INTEGER microseconds since the epoch, UTC, named *_at.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID;

CREATE TABLE workflows (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL CHECK (version >= 1),
  hash TEXT NOT NULL,
  runner TEXT NOT NULL,
  spec TEXT NOT NULL CHECK (json_valid(spec)),
  max_concurrent INTEGER CHECK (max_concurrent >= 1),
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE installations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  component TEXT NOT NULL,
  component_version INTEGER NOT NULL,
  connection TEXT,
  props TEXT NOT NULL CHECK (json_valid(props)),
  cursor TEXT CHECK (cursor IS NULL OR json_valid(cursor)),
  last_error TEXT,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE registrations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  tenant TEXT NOT NULL DEFAULT 'local',
  installation_id TEXT NOT NULL REFERENCES installations (id),
  workflow TEXT NOT NULL REFERENCES workflows (name),
  workflow_version INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('schedule', 'poll', 'file', 'webhook', 'run', 'manual')),
  component TEXT NOT NULL,
  component_version INTEGER NOT NULL,
  connection TEXT,
  config TEXT NOT NULL CHECK (json_valid(config)),
  state TEXT CHECK (state IS NULL OR json_valid(state)),
  tags TEXT NOT NULL CHECK (json_valid(tags)),
  cron_expr TEXT,
  cron_tz TEXT,
  every_us INTEGER CHECK (every_us >= 1000000),
  anchor_at INTEGER,
  once_at INTEGER,
  next_fire_at INTEGER,
  next_fire_run TEXT,
  held_until_enabled INTEGER NOT NULL DEFAULT 0 CHECK (held_until_enabled IN (0, 1)),
  schedule_revision INTEGER NOT NULL DEFAULT 1,
  armed_at INTEGER NOT NULL,
  misfire TEXT NOT NULL CHECK (misfire IN ('fire_once', 'skip', 'fire_all')),
  misfire_grace_ms INTEGER NOT NULL,
  misfire_limit INTEGER NOT NULL,
  overlap TEXT NOT NULL,
  serialize_key TEXT,
  max_attempts INTEGER NOT NULL CHECK (max_attempts >= 1),
  disable_after INTEGER NOT NULL CHECK (disable_after >= 1),
  max_runs INTEGER CHECK (max_runs >= 1),
  expires_at INTEGER,
  written_enabled INTEGER NOT NULL CHECK (written_enabled IN (0, 1)),
  enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  disabled_reason TEXT,
  removed_at INTEGER,
  origin TEXT NOT NULL CHECK (origin IN ('file', 'cli', 'api', 'run')),
  consecutive_failures INTEGER NOT NULL DEFAULT 0,
  run_count INTEGER NOT NULL DEFAULT 0,
  runs_since_armed INTEGER NOT NULL DEFAULT 0,
  last_fired_at INTEGER,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  CHECK ((enabled = 0) = (disabled_reason IS NOT NULL)),
  CHECK ((cron_expr IS NOT NULL) + (every_us IS NOT NULL) + (once_at IS NOT NULL) = (kind = 'schedule'))
) STRICT;

-- A removed row keeps its history; its name is free again.
CREATE UNIQUE INDEX registrations_name ON registrations (name) WHERE removed_at IS NULL;
CREATE INDEX registrations_due ON registrations (next_fire_at)
  WHERE enabled = 1 AND removed_at IS NULL AND next_fire_at IS NOT NULL;
CREATE INDEX registrations_expiring ON registrations (expires_at)
  WHERE enabled = 1 AND removed_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX registrations_kind ON registrations (component) WHERE enabled = 1 AND removed_at IS NULL;

CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  registration_id TEXT NOT NULL UNIQUE REFERENCES registrations (id),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  installation_id TEXT NOT NULL REFERENCES installations (id),
  kind TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  body BLOB,
  envelope TEXT NOT NULL CHECK (json_valid(envelope)),
  received_at INTEGER NOT NULL
) STRICT;

CREATE TABLE seen (
  hash TEXT PRIMARY KEY,
  registration_id TEXT NOT NULL,
  event_id TEXT,
  verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'filtered', 'seeded', 'discarded')),
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event_states (
  state TEXT PRIMARY KEY,
  born INTEGER NOT NULL CHECK (born IN (0, 1))
) STRICT, WITHOUT ROWID;

INSERT INTO event_states (state, born) VALUES
  ('held', 1), ('pending', 1), ('claimed', 1), ('skipped', 1),
  ('succeeded', 0), ('failed', 0), ('dropped', 0);

CREATE TABLE event_moves (
  from_state TEXT NOT NULL REFERENCES event_states (state),
  to_state TEXT NOT NULL REFERENCES event_states (state),
  PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;

INSERT INTO event_moves (from_state, to_state) VALUES
  ('held', 'pending'), ('held', 'dropped'),
  ('pending', 'claimed'), ('pending', 'dropped'),
  ('claimed', 'succeeded'), ('claimed', 'failed'), ('claimed', 'pending'), ('claimed', 'dropped'),
  ('dropped', 'pending'), ('dropped', 'held');

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  registration_id TEXT NOT NULL REFERENCES registrations (id),
  workflow TEXT NOT NULL,
  delivery TEXT NOT NULL REFERENCES deliveries (id),
  delivery_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('schedule', 'poll', 'file', 'webhook', 'run', 'manual')),
  origin TEXT NOT NULL CHECK (origin IN ('live', 'catch_up', 'self', 'manual', 'replay')),
  idempotency_key TEXT NOT NULL UNIQUE,
  occurred_at INTEGER NOT NULL,
  planned_at INTEGER,
  missed INTEGER NOT NULL DEFAULT 0 CHECK (missed >= 0),
  state TEXT NOT NULL REFERENCES event_states (state),
  reason TEXT,
  count INTEGER NOT NULL DEFAULT 1 CHECK (count >= 1),
  lane TEXT,
  blocked_by TEXT,
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  next_fire_at INTEGER,
  claim_id TEXT,
  claim_owner TEXT,
  claimed_at INTEGER,
  run_id TEXT,
  cause_run TEXT,
  cause_lineage TEXT CHECK (cause_lineage IS NULL OR json_valid(cause_lineage)),
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  CHECK ((state IN ('held', 'pending', 'claimed')) = (settled_at IS NULL)),
  CHECK ((state = 'claimed') = (claim_id IS NOT NULL)),
  CHECK ((claim_id IS NULL) = (claim_owner IS NULL) AND (claim_id IS NULL) = (claimed_at IS NULL)),
  CHECK (state <> 'pending' OR next_fire_at IS NOT NULL),
  CHECK (state <> 'held' OR reason IS NOT NULL)
) STRICT;

-- Partial indexes only: settled history never slows the queue down.
CREATE INDEX events_ready ON events (workflow, next_fire_at, seq) WHERE state = 'pending';
CREATE INDEX events_claimed ON events (workflow, registration_id) WHERE state = 'claimed';
CREATE INDEX events_lane ON events (lane, state, seq)
  WHERE state IN ('held', 'pending', 'claimed') AND lane IS NOT NULL;
CREATE INDEX events_waiting ON events (registration_id, seq) WHERE state IN ('held', 'pending');
CREATE INDEX events_blocked ON events (registration_id, blocked_by) WHERE blocked_by IS NOT NULL;
CREATE INDEX events_registration ON events (registration_id, seq);
CREATE INDEX events_state ON events (state, seq);
CREATE INDEX events_delivery ON events (delivery);

CREATE TRIGGER events_born BEFORE INSERT ON events
WHEN NOT EXISTS (SELECT 1 FROM event_states WHERE state = NEW.state AND born = 1)
BEGIN
  SELECT RAISE(ABORT, 'an event is not born in this state');
END;

CREATE TRIGGER events_move BEFORE UPDATE OF state ON events
WHEN NEW.state <> OLD.state AND NOT EXISTS (
  SELECT 1 FROM event_moves WHERE from_state = OLD.state AND to_state = NEW.state)
BEGIN
  SELECT RAISE(ABORT, 'an event does not move between these states');
END;

CREATE TABLE runs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  event_id TEXT REFERENCES events (id),
  registration_id TEXT NOT NULL REFERENCES registrations (id),
  workflow TEXT NOT NULL,
  workflow_version INTEGER NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  engine_key TEXT NOT NULL,
  params TEXT NOT NULL CHECK (json_valid(params)),
  state TEXT NOT NULL CHECK (state IN ('running', 'succeeded', 'failed', 'cancelled', 'lost')),
  pid INTEGER,
  pid_started INTEGER,
  boot_id TEXT,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  exit_code INTEGER,
  signal TEXT,
  error TEXT,
  output TEXT CHECK (output IS NULL OR json_valid(output)),
  log TEXT NOT NULL,
  cost_usd REAL,
  test INTEGER NOT NULL DEFAULT 0 CHECK (test IN (0, 1)),
  CHECK ((state = 'running') = (finished_at IS NULL)),
  CHECK ((event_id IS NULL) = (test = 1))
) STRICT;

CREATE INDEX runs_event ON runs (event_id, seq);
CREATE INDEX runs_registration ON runs (registration_id, seq);
CREATE INDEX runs_running ON runs (id) WHERE state = 'running';

CREATE TABLE files (
  installation_id TEXT NOT NULL REFERENCES installations (id),
  path BLOB NOT NULL,
  generation INTEGER NOT NULL CHECK (generation >= 1),
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('known', 'settling', 'gone')),
  PRIMARY KEY (installation_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  registration_id TEXT,
  event_id TEXT,
  what TEXT NOT NULL,
  reason TEXT,
  detail TEXT CHECK (detail IS NULL OR json_valid(detail))
) STRICT;

CREATE INDEX journal_event ON journal (event_id, seq) WHERE event_id IS NOT NULL;
CREATE INDEX journal_registration ON journal (registration_id, seq) WHERE registration_id IS NOT NULL;

CREATE VIEW event_rows AS
  SELECT events.*, registrations.name AS registration
  FROM events JOIN registrations ON registrations.id = events.registration_id;

CREATE VIEW run_rows AS
  SELECT runs.*, registrations.name AS registration
  FROM runs JOIN registrations ON registrations.id = runs.registration_id;

CREATE VIEW registration_rows AS
  SELECT registrations.*, installations.props, installations.last_error AS source_error
  FROM registrations JOIN installations ON installations.id = registrations.installation_id;
