DROP INDEX jobs_live_key;

DROP INDEX jobs_key;

DROP VIEW described_jobs;

ALTER TABLE jobs ADD COLUMN name TEXT GENERATED ALWAYS AS (json_extract(definition, '$.name')) VIRTUAL;

ALTER TABLE jobs ADD COLUMN key TEXT GENERATED ALWAYS AS (json_extract(definition, '$.key')) VIRTUAL;

ALTER TABLE jobs ADD COLUMN type TEXT GENERATED ALWAYS AS (json_extract(definition, '$.type')) VIRTUAL;

ALTER TABLE jobs ADD COLUMN handler_name TEXT GENERATED ALWAYS AS (json_extract(definition, '$.handler_name')) VIRTUAL;

ALTER TABLE jobs ADD COLUMN priority INTEGER GENERATED ALWAYS AS (json_extract(definition, '$.priority')) VIRTUAL;

ALTER TABLE jobs ADD COLUMN lock_timeout_seconds INTEGER GENERATED ALWAYS AS (
    CASE
        WHEN json_extract(definition, '$.lock_timeout_seconds') BETWEEN 1 AND 7200
            THEN json_extract(definition, '$.lock_timeout_seconds')
    END
) VIRTUAL;

CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, handler_name, key)
WHERE key IS NOT NULL AND status <> 'cancelled' AND deleted_at IS NULL;

CREATE INDEX jobs_live_key ON jobs (tenant_id, key)
WHERE key IS NOT NULL AND deleted_at IS NULL AND status IN ('pending', 'active', 'paused');
