-- name: listeners
-- Who listens to facts at present, whoever they are.
SELECT DISTINCT tenant_id, pattern FROM event_listeners WHERE expires_at IS NULL OR expires_at > :now;

-- name: append
-- In their order; which transaction it is and where in the outbox they stand the columns say for themselves.
INSERT INTO outbox (tenant_id, at, event)
SELECT tenant_id, :now, event
FROM unnest(:tenant_id::text[], :event::json[]) WITH ORDINALITY AS n (tenant_id, event, place)
ORDER BY place;

-- name: horizon
-- Before which transaction all have ended, so that nothing can come in between any more; how far numbers have come;
-- and what was the last to be removed.
-- with: horizon

-- name: outgoing
-- From behind a position on, but nothing of a transaction that others, still open, may come before; with the horizon of
-- the same snapshot, also where nothing is found.
SELECT horizon.*, found.*
FROM (
    -- with: horizon
) AS horizon
LEFT JOIN LATERAL (
    SELECT o.transaction_id::text::bigint AS transaction_id, o.sequence, o.event
    FROM outbox AS o
    WHERE
        (o.transaction_id, o.sequence) > (:after_id::bigint::text::xid8, :after_sequence::bigint)
        AND o.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
        AND (:tenant_id::text IS NULL OR o.tenant_id = :tenant_id)
    ORDER BY o.transaction_id, o.sequence
    LIMIT :limit
) AS found ON true
ORDER BY found.transaction_id, found.sequence;

-- name: listen
-- A new one, or one more lease; since when it has heard all, if it is known. What a copy of a database from another
-- server says of that means nothing here.
INSERT INTO event_listeners AS l (name, tenant_id, pattern, hears_starts, expires_at)
VALUES (:name, :tenant_id, :pattern, :hears_starts, :now::timestamptz + :lease::interval)
ON CONFLICT (name) DO UPDATE
SET
    tenant_id = excluded.tenant_id, pattern = excluded.pattern, hears_starts = excluded.hears_starts,
    expires_at = excluded.expires_at,
    since = CASE
        WHEN
            l.expires_at > :now AND l.pattern = excluded.pattern AND l.tenant_id IS NOT DISTINCT FROM excluded.tenant_id
            AND l.since <= pg_current_xact_id()
            THEN l.since
    END
RETURNING since::text::bigint AS since;

-- name: begin
-- From here on all is heard: nobody who does not know of the listener is left. Another caller may have been faster.
UPDATE event_listeners
SET since = pg_snapshot_xmin(pg_current_snapshot())
WHERE
    name = :name AND pattern = :pattern AND tenant_id IS NOT DISTINCT FROM :tenant_id::text AND since IS NULL;

-- name: forget_listeners
-- Those whose lease is long over; one that is being renewed meanwhile is left alone.
DELETE FROM event_listeners
WHERE name = ANY(ARRAY(
    SELECT l.name FROM event_listeners AS l WHERE l.expires_at < :before ORDER BY l.name FOR UPDATE SKIP LOCKED
));

-- name: unaware
-- Which transactions that may make a fact began before a new listener was there to be seen: they have looked for
-- listeners, or are about to, and write to what facts are about. Nobody who only reads, such as a backup, is one.
SELECT DISTINCT looked.virtualtransaction AS transaction
FROM pg_locks AS looked
JOIN pg_locks AS wrote ON wrote.virtualtransaction = looked.virtualtransaction AND wrote.pid = looked.pid
WHERE
    looked.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND looked.relation = 'event_listeners'::regclass
    AND wrote.relation IN ('executions'::regclass, 'jobs'::regclass, 'outbox'::regclass)
    AND wrote.mode = 'RowExclusiveLock'
    AND looked.pid <> pg_backend_pid()
    AND (:among::text[] IS NULL OR looked.virtualtransaction = ANY(:among));

-- name: renumber
-- What stands here as of a transaction yet to come was written on another server, of which this database is a copy: as
-- of now it was written here, in its order.
UPDATE outbox SET transaction_id = pg_current_xact_id()
WHERE transaction_id >= pg_snapshot_xmax(pg_current_snapshot());

-- name: forget_strangers
-- How far somebody had come there says nothing here; events that come again do nothing.
DELETE FROM outbox_consumers WHERE transaction_id >= pg_snapshot_xmax(pg_current_snapshot());

-- name: forget_end
-- Nor what had been removed there.
DELETE FROM outbox_end WHERE transaction_id >= pg_snapshot_xmax(pg_current_snapshot());

-- name: progress
-- Up to where a consumer has come.
SELECT transaction_id::text::bigint AS transaction_id, sequence FROM outbox_consumers WHERE name = :name;

-- name: advance
-- Up to where a consumer has come now; one that goes on where another has been further stays behind it.
INSERT INTO outbox_consumers AS c (name, transaction_id, sequence)
VALUES (:name, :transaction_id::bigint::text::xid8, :sequence::bigint)
ON CONFLICT (name) DO UPDATE
SET transaction_id = excluded.transaction_id, sequence = excluded.sequence
WHERE (c.transaction_id, c.sequence) < (excluded.transaction_id, excluded.sequence);

-- name: trim
-- What is old and each of these consumers has passed, who has passed nothing if it never said so, oldest first; and a
-- note of the last of it. An array is read once: a join might ask again for others, and so remove more than the limit.
WITH removed AS (
    DELETE FROM outbox
    WHERE ctid = ANY(ARRAY(
        SELECT o.ctid
        FROM outbox AS o
        WHERE
            o.at < :before
            AND o.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
            AND NOT EXISTS (
                SELECT
                FROM unnest(:consumers::text[]) AS needed (name)
                LEFT JOIN outbox_consumers AS c ON c.name = needed.name
                WHERE c.name IS NULL OR (c.transaction_id, c.sequence) < (o.transaction_id, o.sequence)
            )
        ORDER BY o.transaction_id, o.sequence
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING transaction_id, sequence
),

noted AS (
    INSERT INTO outbox_end AS e (transaction_id, sequence)
    SELECT transaction_id, sequence FROM removed ORDER BY transaction_id DESC, sequence DESC LIMIT 1
    ON CONFLICT (only_row) DO UPDATE
    SET transaction_id = excluded.transaction_id, sequence = excluded.sequence
    WHERE (e.transaction_id, e.sequence) < (excluded.transaction_id, excluded.sequence)
)

SELECT count(*) AS removed FROM removed;
