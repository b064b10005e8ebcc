-- name: frontier
-- What some node told last.
SELECT passed, looked_at FROM frontiers WHERE name = :name;

-- name: note_frontier
-- For the others, unless one of them just did: each time leaves a row behind while a snapshot is held. What somebody
-- removed is there again for the next time.
WITH there AS (INSERT INTO frontiers (name) VALUES (:name) ON CONFLICT DO NOTHING)

UPDATE frontiers
SET
    passed = :passed,
    looked_at = CASE WHEN looked_at > :now::timestamptz THEN :looked_at ELSE greatest(looked_at, :looked_at) END,
    noted_at = :now
WHERE name = (
    SELECT f.name
    FROM frontiers AS f
    WHERE
        f.name = :name
        AND (
            f.looked_at < :looked_at::timestamptz
            OR f.looked_at > :now
            OR f.noted_at NOT BETWEEN :now::timestamptz - :pause::interval AND :now::timestamptz
        )
    FOR NO KEY UPDATE SKIP LOCKED
);
