-- name: jobs_of_tenant
-- Which of these a tenant has; a deleted job does not exist for it.
SELECT j.id
FROM json_each(:ids) AS wanted
CROSS JOIN jobs AS j ON j.id = wanted.value
WHERE j.tenant_id = :tenant_id AND j.deleted_at IS NULL
ORDER BY wanted.key;

-- name: jobs_with_keys
-- Who has each [tenant, handler_name, key] already.
SELECT j.id, wanted.key AS place
FROM json_each(:keys) AS wanted
CROSS JOIN described_jobs AS j
    ON
        j.tenant_id = json_extract(wanted.value, '$[0]') AND j.handler_name = json_extract(wanted.value, '$[1]')
        AND j.key = json_extract(wanted.value, '$[2]')
WHERE j.key IS NOT NULL AND j.status <> 'cancelled' AND j.deleted_at IS NULL;
