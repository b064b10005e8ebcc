-- A worker tells how much it found amiss in the ledger, so that every node can say so.

ALTER TABLE workers ADD COLUMN anomalies INTEGER NOT NULL DEFAULT 0;
