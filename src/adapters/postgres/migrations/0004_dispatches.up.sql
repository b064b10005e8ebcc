-- The pipe from the ledger to the executors where there is no Redis. It is allowed to be lost whole: unlogged, so that
-- it costs no write-ahead log, and empty after a crash, when the sweeper fills it again from the ledger.

CREATE UNLOGGED TABLE dispatches (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    execution_id uuid NOT NULL,
    capability text COLLATE "C" NOT NULL,
    priority smallint NOT NULL,
    PRIMARY KEY (execution_id, capability)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE INDEX dispatches_by_urgency ON dispatches (capability, priority DESC, id);
