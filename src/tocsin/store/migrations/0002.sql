-- Second thoughts: a person stops a run, gives a failed event another attempt, has an event again.

-- The event that this one repeats. No foreign key: a copy may outlive its original.
ALTER TABLE events ADD COLUMN replay_of TEXT;
-- The attempt that is the last one, where a person allowed one more; else the trigger's max_attempts.
ALTER TABLE events ADD COLUMN attempt_limit INTEGER CHECK (attempt_limit >= 1);
-- Since when a person wants its run stopped: whoever settles it drops the event, also after a crash.
ALTER TABLE events ADD COLUMN cancel_requested_at INTEGER;

INSERT INTO event_moves (from_state, to_state) VALUES ('failed', 'pending'), ('failed', 'held');
