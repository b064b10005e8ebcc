-- name: revision
-- Of all event handlers together; nothing was ever changed where there is no row.
SELECT coalesce((SELECT revision FROM event_registry), 0) AS revision;

-- name: raise_revision
-- The first lock of whoever changes event handlers, so that one change follows the other.
INSERT INTO event_registry AS r (revision) VALUES (1) ON CONFLICT (only_row) DO UPDATE SET revision = r.revision + 1;

-- name: registry
-- Revision and handlers of one moment, those that act first first; no handlers for whoever has this revision already.
SELECT r.revision, h.*, c.triggered, c.matched, c.succeeded, c.failed, c.last_triggered
FROM (SELECT coalesce((SELECT revision FROM event_registry), 0) AS revision) AS r
LEFT JOIN event_handlers AS h ON h.enabled AND r.revision IS DISTINCT FROM :known::bigint
LEFT JOIN event_handler_counters AS c ON c.handler_id = h.id
ORDER BY h.priority DESC, h.id;

-- name: handlers_by_ids
-- In the order of the ids.
SELECT h.*, c.triggered, c.matched, c.succeeded, c.failed, c.last_triggered
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS wanted (id, place)
JOIN event_handlers AS h ON h.id = wanted.id
JOIN event_handler_counters AS c ON c.handler_id = h.id
ORDER BY wanted.place;

-- name: matching_handlers
-- One row with the total and the ids of a page, those that act first first.
WITH matching AS NOT MATERIALIZED (
    SELECT id, priority
    FROM event_handlers
    WHERE
        tenant_id = :tenant_id
        AND (:event::text[] IS NULL OR event = ANY(:event))
        AND (:key::text[] IS NULL OR key = ANY(:key))
        AND (:enabled::boolean IS NULL OR enabled = :enabled)
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    ARRAY(SELECT id FROM matching ORDER BY priority DESC, id LIMIT :limit OFFSET :offset) AS ids;

-- name: handler_with_key
-- Who has the key, if it is another one.
SELECT id FROM event_handlers WHERE tenant_id = :tenant_id AND key = :key AND id <> :id;

-- name: insert_handler
-- The definition is one document, whose parts that lists filter by are generated columns.
INSERT INTO event_handlers (id, tenant_id, version, created_by, created_at, updated_at, job_id, definition)
VALUES (:id, :tenant_id, :version, :created_by, :created_at, :updated_at, :job_id, :definition);

-- name: insert_handler_counters
-- Nothing came of it yet.
INSERT INTO event_handler_counters (handler_id) VALUES (:id);

-- name: lock_handler
-- The one that a request changes. Whoever holds counters of jobs, which come before it here, still may refer to it.
SELECT h.*, c.triggered, c.matched, c.succeeded, c.failed, c.last_triggered
FROM event_handlers AS h
JOIN event_handler_counters AS c ON c.handler_id = h.id
WHERE h.id = :id AND h.tenant_id = :tenant_id
FOR NO KEY UPDATE OF h;

-- name: lock_handler_to_remove
-- Nobody comes with a new key, or lets events wait, from here on.
SELECT job_id FROM event_handlers WHERE id = :id AND tenant_id = :tenant_id FOR UPDATE;

-- name: save_handler
-- What a request changes.
UPDATE event_handlers
SET version = :version, updated_at = :updated_at, job_id = :job_id, definition = :definition
WHERE id = :id;

-- name: save_listener
-- A handler whose pattern may match a fact listens for as long as it is there.
INSERT INTO event_listeners (name, handler_id, tenant_id, pattern, hears_starts)
VALUES (:name, :handler_id, :tenant_id, :pattern, :hears_starts)
ON CONFLICT (name) DO UPDATE
SET tenant_id = excluded.tenant_id, pattern = excluded.pattern, hears_starts = excluded.hears_starts;

-- name: remove_listener
-- It cannot hear of facts any more.
DELETE FROM event_listeners WHERE handler_id = :handler_id;

-- name: lock_flows_of_handler
-- Keys come before all else that is locked, also for whoever removes their handler.
SELECT flow_key FROM event_flows WHERE handler_id = :handler_id ORDER BY handler_id, flow_key FOR UPDATE;

-- name: lock_gatherings_of_handler
-- Next after keys, as for whoever acts upon them: who waits for a job of that one must not be waited for.
SELECT id FROM event_gatherings WHERE handler_id = :handler_id ORDER BY id FOR UPDATE;

-- name: newer_flows
-- How many keys, once the handler itself is locked, somebody else has who was faster.
SELECT count(*) AS newer
FROM event_flows
WHERE
    handler_id = :handler_id
    AND flow_key <> ALL(ARRAY(
        SELECT f.flow_key FROM event_flows AS f WHERE f.handler_id = :handler_id FOR UPDATE SKIP LOCKED
    ));

-- name: remove_handler
-- Its keys, gatherings and counters go with it, and it listens no more.
DELETE FROM event_handlers WHERE id = :id;

-- name: count_handlers
-- The last lock of every transaction, since every event and every end wants it; in the order of the ids.
UPDATE event_handler_counters AS c
SET
    triggered = c.triggered + n.triggered, matched = c.matched + n.matched, succeeded = c.succeeded + n.succeeded,
    failed = c.failed + n.failed, last_triggered = greatest(c.last_triggered, n.last_triggered)
FROM unnest(
    :handler_id::uuid[], :triggered::bigint[], :matched::bigint[], :succeeded::bigint[], :failed::bigint[],
    :last_triggered::timestamptz[]
) AS n (handler_id, triggered, matched, succeeded, failed, last_triggered)
WHERE
    c.handler_id = n.handler_id
    AND c.handler_id = ANY(ARRAY(
        SELECT l.handler_id
        FROM event_handler_counters AS l
        WHERE l.handler_id = ANY(:handler_id)
        ORDER BY l.handler_id
        FOR NO KEY UPDATE
    ));
