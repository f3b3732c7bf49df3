-- name: gaps.insert
-- A stretch in which nothing could be decided.
INSERT INTO gaps (from_at, to_at, cause, evidence, cost) VALUES (:from_at, :to_at, :cause, :evidence, :cost);

-- name: gaps.forget
-- Gaps of the past.
DELETE FROM gaps WHERE max(from_at, to_at) <= :at;

-- name: gaps.since
-- Gaps that reach past an instant, newest first.
SELECT * FROM gaps WHERE max(from_at, to_at) > :at ORDER BY seq DESC;
