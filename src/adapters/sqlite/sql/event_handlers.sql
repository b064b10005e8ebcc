-- name: insert_handler
-- The definition is one document, whose parts that lists filter and sort by are generated columns.
INSERT INTO event_handlers (id, tenant_id, version, created_by, created_at, updated_at, job_id, definition)
VALUES (:id, :tenant_id, :version, :created_by, :created_at, :updated_at, :job_id, :definition);

-- name: insert_handler_counters
-- A row of its own, as on engines where a finish must not lock what requests change.
INSERT INTO event_handler_counters (handler_id) VALUES (:handler_id);

-- name: save_handler
-- All that a change may have touched.
UPDATE event_handlers
SET version = :version, updated_at = :updated_at, job_id = :job_id, definition = :definition
WHERE id = :id;

-- name: remove_handler
-- Its counters, keys, gatherings and its listener go with it.
DELETE FROM event_handlers WHERE id = :id;

-- name: deafen_handler
-- Before a change says whether it listens to facts, and to which.
DELETE FROM event_listeners WHERE handler_id = :handler_id;

-- name: handlers_by_ids
-- The one place where single handlers are read, in the order of the ids.
SELECT
    h.id, h.tenant_id, h.version, h.created_by, h.created_at, h.updated_at, h.job_id, h.definition,
    c.triggered, c.matched, c.succeeded, c.failed, c.last_triggered
FROM json_each(:ids) AS wanted
CROSS JOIN event_handlers AS h ON h.id = wanted.value
CROSS JOIN event_handler_counters AS c ON c.handler_id = h.id
ORDER BY wanted.key;

-- name: handler_with_key
-- Keys are unique per tenant.
SELECT id FROM event_handlers WHERE tenant_id = :tenant_id AND key = :key AND id <> :id;

-- name: matching_handlers
-- One row with the total and the ids of a page, in the order in which handlers act.
WITH matching AS (
    SELECT id, priority
    FROM event_handlers
    WHERE
        tenant_id = :tenant_id
        AND (:event IS NULL OR event IN (SELECT value FROM json_each(:event)))
        AND (:key IS NULL OR key IN (SELECT value FROM json_each(:key)))
        AND (:enabled IS NULL OR enabled = :enabled)
),

page AS (
    SELECT id FROM matching
    ORDER BY priority DESC, id
    LIMIT :limit OFFSET :offset
)

SELECT
    (SELECT count(*) FROM matching) AS total,
    (SELECT json_group_array(id) FROM page) AS ids;

-- name: revision
-- What tells a node whether the handlers that it knows are still those that there are.
SELECT revision FROM event_registry;

-- name: raise_revision
-- In every transaction that adds, changes or removes a handler.
UPDATE event_registry SET revision = revision + 1;

-- name: enabled_handlers
-- Every tenant's; counters are of no use to a decision.
SELECT h.id, h.tenant_id, h.version, h.created_by, h.created_at, h.updated_at, h.job_id, h.definition
FROM event_handlers AS h
WHERE h.enabled
ORDER BY h.priority DESC, h.id;

-- name: count
-- What is added to the counters of handlers; of one that was removed meanwhile nobody counts any more.
UPDATE event_handler_counters
SET
    triggered = triggered + :triggered, matched = matched + :matched, succeeded = succeeded + :succeeded,
    failed = failed + :failed, last_triggered = ifnull(:last_triggered, last_triggered)
WHERE handler_id = :handler_id;
