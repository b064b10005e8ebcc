-- name: listeners
-- Read in each transaction that makes facts, so that none is made that nobody listens to.
SELECT tenant_id, pattern FROM event_listeners WHERE expires_at IS NULL OR expires_at > :now;

-- name: append
-- The position is the engine's to give, in the order of commits.
INSERT INTO outbox (tenant_id, at, event) VALUES (:tenant_id, :at, :event);

-- name: bounds
-- Between which positions a reader may stand: at the last event that was removed, and at the end.
SELECT
    (SELECT position FROM outbox_end) AS first,
    (SELECT seq FROM sqlite_sequence WHERE name = 'outbox') AS last;

-- name: read
-- What lies behind a position, of every tenant.
SELECT position, event FROM outbox WHERE position > :after ORDER BY position LIMIT :limit;

-- name: read_of_tenant
-- The same for one tenant, by the index that has its events in order.
SELECT position, event FROM outbox WHERE tenant_id = :tenant_id AND position > :after ORDER BY position LIMIT :limit;

-- name: listen
-- Again is a renewal, also of what it listens to.
INSERT INTO event_listeners (name, handler_id, tenant_id, pattern, since, expires_at)
VALUES (:name, :handler_id, :tenant_id, :pattern, :since, :expires_at)
ON CONFLICT (name) DO UPDATE
SET
    tenant_id = excluded.tenant_id, pattern = excluded.pattern, since = excluded.since,
    expires_at = excluded.expires_at;

-- name: listens_since
-- Whether somebody listens to this already, and since when without a gap.
SELECT since FROM event_listeners
WHERE name = :name AND tenant_id IS :tenant_id AND pattern = :pattern AND expires_at > :now;

-- name: skip_position
-- Whoever begins to listen begins at a position of its own: before it there may have been what nobody kept.
UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'outbox' RETURNING seq;

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
-- From the oldest on and without a gap, whatever the clock did meanwhile, so that one position tells what is gone. A
-- consumer that never said how far it has come has passed nothing.
WITH passed AS (
    SELECT position, at FROM outbox
    WHERE
        position <= ifnull(
            (
                SELECT min(ifnull(c.position, 0))
                FROM json_each(:consumers) AS wanted
                LEFT JOIN outbox_consumers AS c ON c.name = wanted.value
            ), :largest
        )
    ORDER BY position
    LIMIT :limit
)

DELETE FROM outbox
WHERE position IN (
    SELECT position FROM passed
    WHERE position < ifnull((SELECT min(position) FROM passed WHERE at >= :before), :largest)
)
RETURNING position;

-- name: save_end
-- Who stands before it has missed something.
UPDATE outbox_end SET position = :position;
