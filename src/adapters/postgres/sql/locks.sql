-- The clock is asked by each statement for itself and after its snapshot: what was committed before is never of a later
-- hour than the one it is judged by.

-- name: take
-- The row of a name stays for ever, so that its fence only rises. A lock that lapses later than its own lease from now
-- was taken before the clock was set back, and is shortened where it cannot be taken.
WITH taken AS (
    INSERT INTO locks AS l (name, fence, secret, holder, lease, expires_at)
    VALUES (
        :name, 1, :secret, :holder, :lease::interval,
        coalesce(:now::timestamptz, clock_timestamp()) + :lease::interval
    )
    ON CONFLICT (name) DO UPDATE
    SET
        fence = l.fence + 1, secret = excluded.secret, holder = excluded.holder, lease = excluded.lease,
        expires_at = excluded.expires_at
    WHERE l.expires_at IS NULL OR l.expires_at <= coalesce(:now::timestamptz, clock_timestamp())
    RETURNING l.fence
),

shortened AS (
    UPDATE locks
    SET expires_at = coalesce(:now::timestamptz, clock_timestamp()) + lease
    WHERE
        name = :name AND expires_at > coalesce(:now::timestamptz, clock_timestamp()) + lease
        AND NOT EXISTS (SELECT 1 FROM taken)
)

SELECT fence FROM taken;

-- name: renew
-- One that has lapsed is still its token's as long as nobody took it: nothing can have happened in between.
UPDATE locks
SET lease = :lease::interval, expires_at = coalesce(:now::timestamptz, clock_timestamp()) + :lease::interval
WHERE name = :name AND secret = :secret AND expires_at IS NOT NULL
RETURNING name;

-- name: release
-- By the token alone, so that whoever was overtaken does not free what is another's now.
UPDATE locks
SET expires_at = NULL
WHERE name = :name AND secret = :secret AND expires_at IS NOT NULL
RETURNING name;
