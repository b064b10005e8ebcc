-- name: lock_jobs_of_tenant
-- Those of the jobs that a tenant has, in the order of their ids, as every transaction locks; a deleted one does not
-- exist for it.
SELECT *
FROM jobs
WHERE id = ANY(:ids::uuid[]) AND tenant_id = :tenant_id AND deleted_at IS NULL
ORDER BY id
FOR NO KEY UPDATE;

-- name: save_definitions
-- What only a request changes, of many jobs.
UPDATE jobs AS j
SET definition = s.definition
FROM unnest(:id::uuid[], :definition::json[]) AS s (id, definition)
WHERE j.id = s.id AND j.id = ANY(:id::uuid[]);
