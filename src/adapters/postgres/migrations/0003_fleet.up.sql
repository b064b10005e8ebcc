-- The registry of nodes, and the leases under which one of them does what only one should.

CREATE TABLE workers (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL,
    roles text[] NOT NULL,
    capabilities text[] NOT NULL,
    version text NOT NULL,
    capacity integer NOT NULL,
    running integer NOT NULL,
    status text NOT NULL CHECK (status IN ('live', 'draining', 'drained', 'stopped', 'dead')),
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    drain_requested boolean NOT NULL DEFAULT false,
    anomalies integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Leases by name, for work that one node does for all; a row stays, so that its fence only rises.
CREATE TABLE locks (
    name text NOT NULL PRIMARY KEY,
    fence bigint NOT NULL,
    secret text NOT NULL,
    holder text NOT NULL,
    lease interval NOT NULL,
    expires_at timestamptz
) WITH (fillfactor = 50);
