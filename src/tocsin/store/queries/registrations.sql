-- name: registrations.insert
-- A new trigger.
INSERT INTO registrations (
  id, name, installation_id, workflow, workflow_version, kind, component, component_version, config, tags,
  cron_expr, cron_tz, every_us, anchor_at, once_at, next_fire_at, armed_at, misfire, misfire_grace_ms,
  misfire_limit, wake_delay_ms, splay_ms, overlap, serialize_key, serialize_by, max_attempts, disable_after, max_runs, max_runs_per_hour,
  max_usd_nanos, budget_period, budget_tz, expires_at, written_enabled, scope, filter, schema, enabled, disabled_reason,
  origin, created_at)
VALUES (
  :id, :name, :installation_id, :workflow, :workflow_version, :kind, :component, :component_version, :config, :tags,
  :cron_expr, :cron_tz, :every_us, :anchor_at, :once_at, :next_fire_at, :armed_at, :misfire, :misfire_grace_ms,
  :misfire_limit, :wake_delay_ms, :splay_ms, :overlap, :serialize_key, :serialize_by, :max_attempts, :disable_after, :max_runs,
  :max_runs_per_hour, :max_usd_nanos, :budget_period, :budget_tz, :expires_at, :written_enabled, :scope, :filter, :schema, :enabled,
  :disabled_reason, :origin, :created_at);

-- name: registrations.update_spec
-- Another wording of the same trigger; state, counters and enablement stay.
UPDATE registrations SET
  workflow = :workflow, workflow_version = :workflow_version, kind = :kind, component = :component,
  component_version = :component_version, scope = :scope, config = :config, tags = :tags, cron_expr = :cron_expr,
  cron_tz = :cron_tz, every_us = :every_us, anchor_at = :anchor_at, once_at = :once_at, misfire = :misfire,
  misfire_grace_ms = :misfire_grace_ms, misfire_limit = :misfire_limit, wake_delay_ms = :wake_delay_ms,
  splay_ms = :splay_ms, overlap = :overlap,
  serialize_key = :serialize_key, serialize_by = :serialize_by, max_attempts = :max_attempts, disable_after = :disable_after,
  max_runs = :max_runs, max_runs_per_hour = :max_runs_per_hour, max_usd_nanos = :max_usd_nanos,
  budget_period = :budget_period, budget_tz = :budget_tz, expires_at = :expires_at, written_enabled = :written_enabled,
  filter = :filter, schema = :schema, installation_id = :installation_id
WHERE id = :id;

-- name: registrations.follow_workflow
-- A workflow has another version: its triggers run that from now on.
UPDATE registrations SET workflow_version = :version WHERE workflow = :workflow AND removed_at IS NULL;

-- name: registrations.reschedule
-- An edited schedule: a new revision, armed now.
UPDATE registrations SET
  schedule_revision = schedule_revision + 1, armed_at = :now, next_fire_at = :next_fire_at,
  next_fire_run = NULL, held_until_enabled = 0
WHERE id = :id;

-- name: registrations.by_id
-- One trigger, removed or not.
SELECT * FROM registration_rows WHERE id = :id;

-- name: registrations.by_name
-- The present bearer of a name.
SELECT * FROM registration_rows WHERE name = :name AND removed_at IS NULL;

-- name: registrations.present
-- Every trigger that was not removed, by name.
SELECT * FROM registration_rows WHERE removed_at IS NULL ORDER BY name;

-- name: registrations.of_installation
-- Triggers that an installation feeds, off or not, by name.
SELECT * FROM registration_rows WHERE installation_id = :installation_id AND removed_at IS NULL ORDER BY name;

-- name: registrations.active_with_component
-- Active triggers of one component, by name.
SELECT * FROM registration_rows
WHERE enabled = 1 AND removed_at IS NULL AND component = :component ORDER BY name;

-- name: registrations.by_token
-- The trigger behind a webhook token's hash, removed or not.
SELECT registration_rows.* FROM tokens JOIN registration_rows ON registration_rows.id = tokens.registration_id
WHERE tokens.hash = :hash;

-- name: registrations.due
-- Active triggers whose planned instant has come, the longest waiting first.
SELECT * FROM registration_rows
WHERE enabled = 1 AND removed_at IS NULL AND paused_at IS NULL AND drifted_at IS NULL
  AND next_fire_at IS NOT NULL AND next_fire_at <= :now AND NOT idle
ORDER BY next_fire_at LIMIT :limit;

-- name: registrations.passed
-- Active triggers with a planned instant up to then, by name; no pause holds them any more.
SELECT * FROM registration_rows
WHERE enabled = 1 AND removed_at IS NULL AND (paused_at IS NULL OR paused_until <= :until) AND drifted_at IS NULL
  AND next_fire_at IS NOT NULL AND next_fire_at <= :until AND NOT idle
ORDER BY name;

-- name: registrations.next_due
-- The earliest planned instant of all active triggers.
SELECT next_fire_at FROM registrations
WHERE enabled = 1 AND removed_at IS NULL AND paused_at IS NULL AND drifted_at IS NULL AND next_fire_at IS NOT NULL
  AND scope NOT IN (SELECT value FROM json_each((SELECT value FROM meta WHERE key = 'unserved')))
ORDER BY next_fire_at LIMIT 1;

-- name: registrations.next_expiry
-- The earliest end of all active triggers.
SELECT min(expires_at) AS expires_at FROM registrations
WHERE enabled = 1 AND removed_at IS NULL AND expires_at IS NOT NULL;

-- name: registrations.expired
-- Active triggers past their end.
SELECT * FROM registration_rows
WHERE enabled = 1 AND removed_at IS NULL AND expires_at IS NOT NULL AND expires_at <= :now;

-- name: registrations.plan_next
-- Moves the next planned instant.
UPDATE registrations SET next_fire_at = :next_fire_at, next_fire_run = NULL WHERE id = :id;

-- name: registrations.hold
-- A run said `next_fire_at: "never"`: nothing is planned until somebody arms it again.
UPDATE registrations SET next_fire_at = NULL, next_fire_run = NULL, held_until_enabled = 1 WHERE id = :id;

-- name: registrations.plan_by_run
-- A run named its next instant, which comes before the schedule's own; it lifts `never`.
UPDATE registrations SET next_fire_at = :next_fire_at, next_fire_run = :run_id, held_until_enabled = 0
WHERE id = :id;

-- name: registrations.disable
-- Turns a trigger off; the reason it already has stays, but a person's word outlasts the file's.
UPDATE registrations SET enabled = 0, disabled_reason = :reason
WHERE id = :id AND (enabled = 1 OR (disabled_reason = 'config' AND :reason = 'user'));

-- name: registrations.enable
-- Arms a trigger anew; what was spent before counts no more if that had turned it off, nor does a loop that had.
UPDATE registrations SET
  budget_from = CASE WHEN disabled_reason = 'budget' THEN :now ELSE budget_from END,
  last_error = CASE WHEN disabled_reason = 'loop' THEN NULL ELSE last_error END,
  enabled = 1, disabled_reason = NULL, consecutive_failures = 0, runs_since_armed = 0, armed_at = :now,
  next_fire_at = :next_fire_at, next_fire_run = NULL, held_until_enabled = 0
WHERE id = :id;

-- name: registrations.remove
-- Hides a trigger; its history stays and its name is free.
UPDATE registrations SET
  removed_at = :now, enabled = 0, disabled_reason = coalesce(disabled_reason, 'user'), next_fire_at = NULL
WHERE id = :id AND removed_at IS NULL;

-- name: registrations.mark_drift
-- Since when its component has another version; NULL when it has not.
UPDATE registrations SET drifted_at = :at WHERE id = :id;

-- name: registrations.rebind
-- Made for this version of its component.
UPDATE registrations SET component_version = :version WHERE id = :id;

-- name: registrations.move_mark
-- How far `greatest` has come; NULL to start afresh.
UPDATE registrations SET dedupe_mark = :mark, dedupe_mark_event = :event_id WHERE id = :id;

-- name: registrations.write_state
-- A run's `state` output, or what a person puts in its place.
UPDATE registrations SET state = :state WHERE id = :id;

-- name: registrations.succeeded
-- One more success; what tells of a loop stays.
UPDATE registrations SET
  consecutive_failures = 0, run_count = run_count + 1, runs_since_armed = runs_since_armed + 1,
  last_fired_at = :claimed_at, last_error = CASE WHEN disabled_reason = 'loop' THEN last_error END
WHERE id = :id;

-- name: registrations.failed
-- One more failed attempt; what tells of a loop stays.
UPDATE registrations SET
  consecutive_failures = consecutive_failures + 1,
  last_error = CASE WHEN disabled_reason = 'loop' THEN last_error ELSE :error END
WHERE id = :id;

-- name: registrations.tell_loop
-- What a trigger was turned off for by itself, until it is armed again.
UPDATE registrations SET last_error = :error WHERE id = :id;
