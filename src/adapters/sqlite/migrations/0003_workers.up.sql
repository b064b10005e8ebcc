-- The registry of nodes: who runs loops, and when each was last heard of.

CREATE TABLE workers (
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
