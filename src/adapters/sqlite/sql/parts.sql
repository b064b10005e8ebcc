-- part: first_start
-- When a handler first began. What was handed back unbegun had no start, and most rows have no past attempt to look at.
CASE past_attempts
    WHEN '[]' THEN started_at
    ELSE ifnull(
        (
            SELECT json_extract(past.value, '$.started_at')
            FROM json_each(past_attempts) AS past
            WHERE json_extract(past.value, '$.started_at') IS NOT NULL
            ORDER BY past.key
            LIMIT 1
        ),
        started_at
    )
END AS first_start,

-- part: had_begun
-- Whether a handler began before, of an execution that was claimed before.
CASE attempt
    WHEN 0 THEN 0
    ELSE EXISTS (
        SELECT 1 FROM json_each(past_attempts) AS past WHERE json_extract(past.value, '$.started_at') IS NOT NULL
    )
END
