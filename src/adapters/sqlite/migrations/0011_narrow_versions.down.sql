-- Whole again, each from the last version that has a definition.

UPDATE job_versions
SET
    before = json_insert(before, '$.definition', json_extract(whole.document, '$.definition')),
    after = json_insert(after, '$.definition', json_extract(whole.document, '$.definition'))
FROM (
    SELECT
        n.job_id,
        n.version,
        (
            SELECT b.after
            FROM job_versions AS b
            WHERE b.job_id = n.job_id AND b.version < n.version AND json_type(b.after, '$.definition') IS NOT NULL
            ORDER BY b.version DESC
            LIMIT 1
        ) AS document
    FROM job_versions AS n
    WHERE json_type(n.after, '$.definition') IS NULL AND json_type(n.after) = 'object'
) AS whole
WHERE job_versions.job_id = whole.job_id AND job_versions.version = whole.version;
