-- Fair turns, halts, lanes by payload, spending, what runs do only once, and giving room back.

-- A pending event is claimable once it has a turn; one that waits for its time has none yet.
ALTER TABLE events ADD COLUMN turn INTEGER;
-- Why its run is to be stopped; NULL while nobody wants that.
ALTER TABLE events ADD COLUMN cancel_reason TEXT;
UPDATE events SET cancel_reason = 'cancelled' WHERE cancel_requested_at IS NOT NULL;

INSERT INTO event_moves (from_state, to_state) VALUES ('pending', 'held'), ('claimed', 'held');

DROP INDEX events_ready;
CREATE INDEX events_ready ON events (workflow, turn, seq) WHERE state = 'pending' AND turn IS NOT NULL;
CREATE INDEX events_turns ON events (registration_id, turn) WHERE state = 'pending' AND turn IS NOT NULL;
CREATE INDEX events_due ON events (next_fire_at, seq) WHERE state = 'pending' AND turn IS NULL;

-- The last turn of each trigger that was served, and the last one of all.
CREATE TABLE turns (
  registration_id TEXT PRIMARY KEY,
  turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE served (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  turn INTEGER NOT NULL
) STRICT;

INSERT INTO served (one, turn) VALUES (1, 0);

-- Paused by a person, until then or until resumed.
ALTER TABLE registrations ADD COLUMN paused_at INTEGER;
ALTER TABLE registrations ADD COLUMN paused_until INTEGER CHECK (paused_until IS NULL OR paused_at IS NOT NULL);
-- Since when its component's version is not the one that it was made for.
ALTER TABLE registrations ADD COLUMN drifted_at INTEGER;
-- The part of an event that names its lane.
ALTER TABLE registrations ADD COLUMN serialize_by TEXT;
-- How catch-ups are spread.
ALTER TABLE registrations ADD COLUMN wake_delay_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE registrations ADD COLUMN splay_ms INTEGER NOT NULL DEFAULT 0;
-- Spending, in billionths of a dollar: sums of whole numbers are exact.
ALTER TABLE registrations ADD COLUMN max_usd_nanos INTEGER CHECK (max_usd_nanos > 0);
ALTER TABLE registrations ADD COLUMN budget_period TEXT CHECK (budget_period IN ('day', 'week', 'month'));
ALTER TABLE registrations ADD COLUMN budget_tz TEXT;
-- What was spent before this instant was forgiven by a person who armed the trigger again.
ALTER TABLE registrations ADD COLUMN budget_from INTEGER;
ALTER TABLE registrations ADD COLUMN max_runs_per_hour INTEGER CHECK (max_runs_per_hour >= 1);

DROP INDEX registrations_due;
CREATE INDEX registrations_due ON registrations (next_fire_at)
  WHERE enabled = 1 AND removed_at IS NULL AND paused_at IS NULL AND drifted_at IS NULL AND next_fire_at IS NOT NULL;
CREATE INDEX registrations_resuming ON registrations (paused_until) WHERE paused_until IS NOT NULL AND removed_at IS NULL;

CREATE INDEX registrations_installation ON registrations (installation_id) WHERE removed_at IS NULL;

CREATE TABLE costs (
  run_id TEXT PRIMARY KEY,
  registration_id TEXT NOT NULL REFERENCES registrations (id),
  workflow TEXT NOT NULL,
  tags TEXT NOT NULL CHECK (json_valid(tags)),
  usd_nanos INTEGER NOT NULL CHECK (usd_nanos >= 0),
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Holds all that a budget is asked for, before each run.
CREATE INDEX costs_registration ON costs (registration_id, at, usd_nanos);

-- What a run has done under a key, so that a later attempt of it can leave that out.
CREATE TABLE once (
  registration_id TEXT NOT NULL REFERENCES registrations (id),
  key TEXT NOT NULL,
  run_id TEXT NOT NULL,
  -- The process that is at it, told from a later one with its pid by when it started.
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  result TEXT CHECK (result IS NULL OR json_valid(result)),
  began_at INTEGER NOT NULL,
  done_at INTEGER,
  PRIMARY KEY (registration_id, key)
) STRICT, WITHOUT ROWID;

-- When a delivery's payload was given up; its row goes with its last event.
ALTER TABLE deliveries ADD COLUMN pruned_at INTEGER;

-- What is old is found without reading what is not. These two cost each delivery an entry at the end of an index;
-- events, runs and journal need none, since their seq is roughly their age.
CREATE INDEX deliveries_kept ON deliveries (received_at) WHERE pruned_at IS NULL;
CREATE INDEX seen_age ON seen (last_seen_at);
-- Stretches in which nothing could be decided. to_at is before from_at where the clock was set back.
CREATE TABLE gaps (
  seq INTEGER PRIMARY KEY,
  from_at INTEGER NOT NULL,
  to_at INTEGER NOT NULL,
  cause TEXT NOT NULL CHECK (cause IN ('off', 'asleep', 'stopped', 'clock')),
  evidence TEXT NOT NULL,
  cost TEXT NOT NULL CHECK (json_valid(cost))
) STRICT;
