ALTER TABLE jobs DROP COLUMN is_planned;

DELETE FROM job_versions AS v WHERE NOT EXISTS (SELECT FROM jobs AS j WHERE j.id = v.job_id);

-- Whole again, each from the last version that has a definition.
UPDATE job_versions AS v
SET
    before = json_build_object(
        'definition', whole.definition, 'status', v.before -> 'status', 'deleted', v.before -> 'deleted'
    ),
    after = json_build_object(
        'definition', whole.definition, 'status', v.after -> 'status', 'deleted', v.after -> 'deleted'
    )
FROM (
    SELECT
        n.job_id,
        n.version,
        (
            SELECT b.after -> 'definition'
            FROM job_versions AS b
            WHERE b.job_id = n.job_id AND b.version < n.version AND b.after -> 'definition' IS NOT NULL
            ORDER BY b.version DESC
            LIMIT 1
        ) AS definition
    FROM job_versions AS n
    WHERE n.after -> 'definition' IS NULL
) AS whole
WHERE v.job_id = whole.job_id AND v.version = whole.version;

ALTER TABLE job_versions
ADD CONSTRAINT job_versions_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE;
