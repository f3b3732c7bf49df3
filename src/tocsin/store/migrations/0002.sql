-- How far `greatest` has come, and how recently `last` has seen an id.

-- The greatest id that was accepted and its event.
ALTER TABLE registrations ADD COLUMN dedupe_mark TEXT;
ALTER TABLE registrations ADD COLUMN dedupe_mark_event TEXT;

-- turn: rises with each sighting of a trigger's ids; only triggers that remember the last N have turns.
-- generation: how often the id has counted as new.
ALTER TABLE seen ADD COLUMN turn INTEGER;
ALTER TABLE seen ADD COLUMN generation INTEGER NOT NULL DEFAULT 1 CHECK (generation >= 1);

CREATE UNIQUE INDEX seen_turn ON seen (registration_id, turn) WHERE turn IS NOT NULL;
