-- Whole again, each from the last version that has a definition.

UPDATE job_versions
SET
    before = json_object(
        'definition', json(whole.definition), 'status', json_extract(before, '$.status'),
        'deleted', json(json_type(before, '$.deleted'))
    ),
    after = json_object(
        'definition', json(whole.definition), 'status', json_extract(after, '$.status'),
        'deleted', json(json_type(after, '$.deleted'))
    )
FROM (
    SELECT
        n.job_id,
        n.version,
        (
            SELECT json_extract(b.after, '$.definition')
            FROM job_versions AS b
            WHERE b.job_id = n.job_id AND b.version < n.version AND json_type(b.after, '$.definition') IS NOT NULL
            ORDER BY b.version DESC
            LIMIT 1
        ) AS definition
    FROM job_versions AS n
    WHERE json_type(n.after, '$.definition') IS NULL AND json_type(n.after) = 'object'
) AS whole
WHERE job_versions.job_id = whole.job_id AND job_versions.version = whole.version;
