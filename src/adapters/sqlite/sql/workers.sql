-- name: beat
-- One that was taken for dead is back: what was its to run is fenced by leases and attempts, not by this. What it is
-- asked to do is not its to say, but comes back with each beat.
INSERT INTO workers (
    id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at, anomalies
)
VALUES (
    :id, :name, :roles, :capabilities, :version, :capacity, :running, :status, :started_at, :heartbeat_at,
    :anomalies
)
ON CONFLICT (id) DO UPDATE
SET
    name = excluded.name, roles = excluded.roles, capabilities = excluded.capabilities, version = excluded.version,
    capacity = excluded.capacity, running = excluded.running, status = excluded.status,
    started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at, anomalies = excluded.anomalies
RETURNING drain_requested;

-- name: drain
-- Only the wish: the worker says at its next beat how far it has come.
UPDATE workers
SET drain_requested = :requested
WHERE id = :id
RETURNING
    id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at, drain_requested,
    anomalies;

-- name: workers
-- Newest heartbeat first.
SELECT
    id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at, drain_requested,
    anomalies
FROM workers
ORDER BY heartbeat_at DESC, id;

-- name: forget
-- Stopped workers said goodbye; the dead are shown for a while.
DELETE FROM workers WHERE status = 'stopped' OR (status = 'dead' AND heartbeat_at < :mourned);

-- name: bury
-- Only once its executions are released, so that nobody forgets to recover them, and only if it has not been heard
-- of since it was seen silent.
UPDATE workers
SET status = 'dead'
WHERE
    (id, heartbeat_at) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:seen))
    AND status <> 'dead' AND heartbeat_at < :silent
    AND id NOT IN (
        SELECT worker_id FROM executions WHERE lease_expires_at IS NOT NULL AND worker_id IS NOT NULL
    )
RETURNING id;
