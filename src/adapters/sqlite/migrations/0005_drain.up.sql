-- A worker can be asked to take no more work, and says when none is left. SQLite widens a CHECK only by a new table.

CREATE TABLE workers_that_drain (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    roles TEXT NOT NULL CHECK (json_valid(roles)),
    capabilities TEXT NOT NULL CHECK (json_valid(capabilities)),
    version TEXT NOT NULL,
    capacity INTEGER NOT NULL,
    running INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('live', 'draining', 'drained', 'stopped', 'dead')),
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    drain_requested INTEGER NOT NULL DEFAULT 0 CHECK (drain_requested IN (0, 1))
) WITHOUT ROWID;

INSERT INTO workers_that_drain (
    id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at
)
SELECT id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at
FROM workers;

DROP TABLE workers;

ALTER TABLE workers_that_drain RENAME TO workers;
