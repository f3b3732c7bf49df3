-- Second thoughts: a person stops a run, gives a failed event another attempt, has an event again.

-- The event that this one repeats. No foreign key: a copy may outlive its original.
ALTER TABLE events ADD COLUMN replay_of TEXT;
-- The attempt that is the last one, where a person allowed one more; else the trigger's max_attempts.
ALTER TABLE events ADD COLUMN attempt_limit INTEGER CHECK (attempt_limit >= 1);
-- Since when a person wants its run stopped: whoever settles it drops the event, also after a crash.
ALTER TABLE events ADD COLUMN cancel_requested_at INTEGER;

INSERT INTO event_moves (from_state, to_state) VALUES ('failed', 'pending'), ('failed', 'held');

-- How far `greatest` has come, and how recently `last` has seen an id.

-- The greatest id that was accepted and its event.
ALTER TABLE registrations ADD COLUMN dedupe_mark TEXT;
ALTER TABLE registrations ADD COLUMN dedupe_mark_event TEXT;

-- turn: rises with each sighting of a trigger's ids; only triggers that remember the last N have turns.
-- generation: how often the id has counted as new.
ALTER TABLE seen ADD COLUMN turn INTEGER;
ALTER TABLE seen ADD COLUMN generation INTEGER NOT NULL DEFAULT 1 CHECK (generation >= 1);

CREATE UNIQUE INDEX seen_turn ON seen (registration_id, turn) WHERE turn IS NOT NULL;
