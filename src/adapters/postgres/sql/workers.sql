-- name: beat
-- One that was taken for dead is back: what was its to run is fenced by leases and attempts, not by this. What it is
-- asked to do is not its to say, but comes back with each beat.
INSERT INTO workers (
    id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at, anomalies
)
VALUES (
    :id, :name, :roles, :capabilities, :version, :capacity, :running, :status, :started_at,
    coalesce(:now::timestamptz, now()), :anomalies
)
ON CONFLICT (id) DO UPDATE
SET
    name = excluded.name, roles = excluded.roles, capabilities = excluded.capabilities, version = excluded.version,
    capacity = excluded.capacity, running = excluded.running, status = excluded.status,
    started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at, anomalies = excluded.anomalies
RETURNING
    id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at, drain_requested,
    anomalies;

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
ORDER BY heartbeat_at DESC, id COLLATE "C";

-- name: forget
-- Stopped workers said goodbye; the dead are shown for a while. Whom another node forgets just now is not waited for.
DELETE FROM workers
WHERE id = ANY(ARRAY(
    SELECT id FROM workers
    WHERE status = 'stopped' OR (status = 'dead' AND heartbeat_at < :now::timestamptz - :mourning::interval)
    ORDER BY id
    FOR UPDATE SKIP LOCKED
));

-- name: bury
-- Only once its executions are released, so that nobody forgets to recover them, and only if it has not been heard
-- of since it was seen silent.
WITH buried AS (
    UPDATE workers
    SET status = 'dead'
    WHERE id = ANY(ARRAY(
        SELECT w.id
        FROM unnest(:ids::text[], :heartbeats::timestamptz[]) AS seen (id, heartbeat_at)
        JOIN workers AS w ON w.id = seen.id AND w.heartbeat_at = seen.heartbeat_at
        WHERE
            w.status <> 'dead' AND w.heartbeat_at < :now::timestamptz - :silent_for::interval
            AND NOT EXISTS (
                SELECT FROM claims AS c
                JOIN executions AS e ON e.id = ANY(c.execution_ids)
                WHERE c.worker_id = w.id AND e.worker_id = w.id AND e.lease_expires_at IS NOT NULL
            )
        ORDER BY w.id
        FOR UPDATE OF w SKIP LOCKED
    ))
    RETURNING
        id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at, drain_requested,
        anomalies
)

SELECT * FROM buried ORDER BY heartbeat_at DESC, id COLLATE "C";
