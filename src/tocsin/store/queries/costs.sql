-- name: costs.insert
-- What a run has cost; its first word counts.
INSERT INTO costs (run_id, registration_id, workflow, tags, usd_nanos, at)
VALUES (:run_id, :registration_id, :workflow, :tags, :usd_nanos, :at)
ON CONFLICT (run_id) DO NOTHING;

-- name: costs.spent
-- What a trigger's runs have cost since then, whole dollars and billionths apart.
SELECT sum(usd_nanos / 1000000000) AS dollars, sum(usd_nanos % 1000000000) AS rest FROM costs
WHERE registration_id = :registration_id AND at >= :since;

-- name: costs.by_trigger
-- What runs have cost, by the names of their triggers.
SELECT registrations.name AS key, count(*) AS runs,
  sum(usd_nanos / 1000000000) AS dollars, sum(usd_nanos % 1000000000) AS rest
FROM costs JOIN registrations ON registrations.id = costs.registration_id
WHERE :since IS NULL OR costs.at >= :since GROUP BY registrations.name;

-- name: costs.by_workflow
-- What runs have cost, by workflow.
SELECT workflow AS key, count(*) AS runs,
  sum(usd_nanos / 1000000000) AS dollars, sum(usd_nanos % 1000000000) AS rest
FROM costs WHERE :since IS NULL OR at >= :since GROUP BY workflow;

-- name: costs.by_tag
-- What runs have cost, by tag: under each they have, under NULL where they have none.
SELECT tag.value AS key, count(*) AS runs,
  sum(usd_nanos / 1000000000) AS dollars, sum(usd_nanos % 1000000000) AS rest
FROM costs LEFT JOIN json_each(costs.tags) AS tag
WHERE :since IS NULL OR costs.at >= :since GROUP BY tag.value;
