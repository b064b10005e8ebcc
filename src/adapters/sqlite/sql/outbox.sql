-- name: listeners
-- Read in each transaction that makes facts, so that none is made that nobody listens to.
SELECT tenant_id, pattern FROM event_listeners WHERE expires_at IS NULL OR expires_at > :now;

-- name: append
-- The position is the engine's to give, in the order of commits.
INSERT INTO outbox (tenant_id, at, event) VALUES (:tenant_id, :at, :event);

-- name: bounds
-- Between which positions a reader may stand: just before the oldest event that is kept, and at the newest ever written.
SELECT
    ifnull((SELECT min(position) FROM outbox) - 1, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0))
    AS first,
    ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0) AS last;

-- name: read
-- What lies behind a position, of every tenant.
SELECT position, event FROM outbox WHERE position > :after ORDER BY position LIMIT :limit;

-- name: read_of_tenant
-- The same for one tenant, by the index that has its events in order.
SELECT position, event FROM outbox WHERE tenant_id = :tenant_id AND position > :after ORDER BY position LIMIT :limit;

-- name: listen
-- Again is a renewal, also of what it listens to.
INSERT INTO event_listeners (name, handler_id, tenant_id, pattern, expires_at)
VALUES (:name, :handler_id, :tenant_id, :pattern, :expires_at)
ON CONFLICT (name) DO UPDATE
SET tenant_id = excluded.tenant_id, pattern = excluded.pattern, expires_at = excluded.expires_at;

-- name: forget_listeners
-- Whose lease is over hears nothing more in any case.
DELETE FROM event_listeners WHERE expires_at IS NOT NULL AND expires_at <= :now;

-- name: progress
-- How far a consumer has come.
SELECT position FROM outbox_consumers WHERE name = :name;

-- name: advance
-- A consumer never goes back: one that was frozen meanwhile knows less than whoever took its place.
INSERT INTO outbox_consumers (name, position) VALUES (:name, :position)
ON CONFLICT (name) DO UPDATE SET position = max(position, excluded.position);

-- name: trim
-- From the oldest on and without a gap, whatever the clock did meanwhile, so that one position tells what is gone.
WITH passed AS (
    SELECT position, at FROM outbox
    WHERE position <= ifnull((SELECT min(position) FROM outbox_consumers), :largest)
    ORDER BY position
    LIMIT :limit
)

DELETE FROM outbox
WHERE position IN (
    SELECT position FROM passed
    WHERE position < ifnull((SELECT min(position) FROM passed WHERE at >= :before), :largest)
)
RETURNING position;
