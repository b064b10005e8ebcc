-- Leases by name, for work that one node does for all; a row stays, so that its fence only rises.

CREATE TABLE locks (
    name TEXT NOT NULL PRIMARY KEY,
    fence INTEGER NOT NULL,
    secret TEXT NOT NULL,
    holder TEXT NOT NULL,
    lease INTEGER NOT NULL,
    expires_at INTEGER
) WITHOUT ROWID;
