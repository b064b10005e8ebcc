-- name: take
-- The row of a name stays for ever, so that its fence only rises.
INSERT INTO locks (name, fence, secret, holder, lease, expires_at)
VALUES (:name, 1, :secret, :holder, :lease, :now + :lease)
ON CONFLICT (name) DO UPDATE
SET
    fence = fence + 1, secret = excluded.secret, holder = excluded.holder, lease = excluded.lease,
    expires_at = excluded.expires_at
WHERE expires_at IS NULL OR expires_at <= :now
RETURNING fence;

-- name: shorten
-- A lock that lapses later than its own lease from now was taken before the clock was set back.
UPDATE locks
SET expires_at = :now + lease
WHERE name = :name AND expires_at > :now + lease;

-- name: renew
-- One that has lapsed is still its token's as long as nobody took it: nothing can have happened in between.
UPDATE locks
SET lease = :lease, expires_at = :now + :lease
WHERE name = :name AND secret = :secret AND expires_at IS NOT NULL
RETURNING name;

-- name: release
-- By the token alone, so that whoever was overtaken does not free what is another's now.
UPDATE locks
SET expires_at = NULL
WHERE name = :name AND secret = :secret AND expires_at IS NOT NULL
RETURNING name;
