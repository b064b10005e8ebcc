-- What one node found out about where looks begin, for the others and for those that start, while a snapshot that somebody
-- holds keeps the server from removing what they would have to pass over.

-- Before when nothing is due, dispatched or leased: one row for each kind. When everything was last looked through, and
-- when somebody last told.
CREATE TABLE frontiers (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    passed timestamptz NOT NULL DEFAULT '0001-01-01 00:00:00+00',
    looked_at timestamptz NOT NULL DEFAULT '0001-01-01 00:00:00+00',
    noted_at timestamptz NOT NULL DEFAULT '0001-01-01 00:00:00+00'
) WITH (fillfactor = 10);

INSERT INTO frontiers (name) VALUES ('due'), ('dispatched'), ('claimed');

-- Up to which number a queue of dispatches was emptied; gone with them in a crash.
CREATE UNLOGGED TABLE dispatch_floors (
    capability text COLLATE "C" NOT NULL,
    priority smallint NOT NULL,
    number bigint NOT NULL,
    noted_at timestamptz NOT NULL,
    PRIMARY KEY (capability, priority)
);

-- One row, that a node writes where there is none: after a crash, when dispatches are numbered from 1 again, it is another.
CREATE UNLOGGED TABLE dispatch_era (
    is_there boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (is_there),
    era uuid NOT NULL DEFAULT gen_random_uuid()
);
