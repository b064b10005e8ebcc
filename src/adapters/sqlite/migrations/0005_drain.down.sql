CREATE TABLE workers_that_stop (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    roles TEXT NOT NULL CHECK (json_valid(roles)),
    capabilities TEXT NOT NULL CHECK (json_valid(capabilities)),
    version TEXT NOT NULL,
    capacity INTEGER NOT NULL,
    running INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('live', 'draining', 'stopped', 'dead')),
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO workers_that_stop (
    id, name, roles, capabilities, version, capacity, running, status, started_at, heartbeat_at
)
SELECT
    id, name, roles, capabilities, version, capacity, running,
    CASE status WHEN 'drained' THEN 'draining' ELSE status END, started_at, heartbeat_at
FROM workers;

DROP TABLE workers;

ALTER TABLE workers_that_stop RENAME TO workers;
