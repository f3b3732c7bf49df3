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

-- The run of its own trigger during which an event's file changed, and when.
ALTER TABLE events ADD COLUMN suspect_run TEXT;
ALTER TABLE events ADD COLUMN changed_at INTEGER;

DROP VIEW registration_rows;
CREATE VIEW registration_rows AS
  SELECT registrations.*, installations.props, installations.last_error AS source_error,
    CASE installations.shared WHEN 1 THEN installations.name END AS source,
    registrations.scope IN (SELECT value FROM json_each((SELECT value FROM meta WHERE key = 'unserved'))) AS idle
  FROM registrations JOIN installations ON installations.id = registrations.installation_id;
