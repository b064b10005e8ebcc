-- name: lapsed_leases
-- Nobody else's clock is asked: a file has none of its own.
SELECT count(*) FROM executions WHERE lease_expires_at IS NOT NULL AND lease_expires_at < :before;
