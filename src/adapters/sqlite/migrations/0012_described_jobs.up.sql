-- compatible: no
-- To write any column of a row computes all generated columns of its table, so that each fire read the definition of its
-- job from beginning to end, payload and all. The parts of definitions that are asked for are told by a view instead.

DROP INDEX jobs_key;

DROP INDEX jobs_live_key;

ALTER TABLE jobs DROP COLUMN name;

ALTER TABLE jobs DROP COLUMN key;

ALTER TABLE jobs DROP COLUMN type;

ALTER TABLE jobs DROP COLUMN handler_name;

ALTER TABLE jobs DROP COLUMN priority;

ALTER TABLE jobs DROP COLUMN lock_timeout_seconds;

CREATE VIEW described_jobs AS
SELECT
    id, tenant_id, status, next_run, created_by, created_at, deleted_at, definition,
    json_extract(definition, '$.name') AS name,
    json_extract(definition, '$.key') AS key,
    json_extract(definition, '$.type') AS type,
    json_extract(definition, '$.handler_name') AS handler_name,
    json_extract(definition, '$.priority') AS priority,
    -- Null for what is no length of a lease, whoever wrote it: leases then have the length of the stand-in.
    CASE
        WHEN json_extract(definition, '$.lock_timeout_seconds') BETWEEN 1 AND 7200
            THEN json_extract(definition, '$.lock_timeout_seconds')
    END AS lock_timeout_seconds
FROM jobs;

CREATE UNIQUE INDEX jobs_key
ON jobs (tenant_id, json_extract(definition, '$.handler_name'), json_extract(definition, '$.key'))
WHERE json_extract(definition, '$.key') IS NOT NULL AND status <> 'cancelled' AND deleted_at IS NULL;

CREATE INDEX jobs_live_key ON jobs (tenant_id, json_extract(definition, '$.key'))
WHERE
    json_extract(definition, '$.key') IS NOT NULL AND deleted_at IS NULL
    AND status IN ('pending', 'active', 'paused');
