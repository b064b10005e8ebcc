-- Events, the standing rules about them, and the outbox.

-- The traces of executions go on with the flags and the vendors' words of whoever began them. Of what is older nobody
-- knows more than that it was traced; constant defaults, so that no row is written anew.
ALTER TABLE executions
ADD COLUMN trace_flags smallint NOT NULL DEFAULT 1,
ADD COLUMN tracestate text,
ADD COLUMN event_handler_id uuid,
ADD COLUMN depth smallint NOT NULL DEFAULT 0;

-- What came of an event, which is few among many.
CREATE INDEX executions_of_event ON executions (event_id) WHERE event_id IS NOT NULL;

-- The span under which a job was made, as a traceparent, and after a blank the tracestate if there is one; and how many
-- events in a row led to it.
ALTER TABLE jobs
ADD COLUMN created_in text,
ADD COLUMN depth smallint NOT NULL DEFAULT 0;

-- Jobs are looked for by their key alone as well.
DROP INDEX jobs_key;

CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, key, handler_name)
WHERE key IS NOT NULL AND status <> 'cancelled' AND deleted_at IS NULL;

CREATE TABLE event_handlers (
    id uuid NOT NULL PRIMARY KEY,
    tenant_id text NOT NULL,
    version integer NOT NULL,
    created_by text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- The job of its own, of an action that calls a handler directly.
    job_id uuid REFERENCES jobs (id) ON DELETE SET NULL,
    definition json NOT NULL,
    event text COLLATE "C" GENERATED ALWAYS AS (definition ->> 'event') STORED,
    key text COLLATE "C" GENERATED ALWAYS AS (definition ->> 'key') STORED,
    priority integer GENERATED ALWAYS AS ((definition ->> 'priority')::integer) STORED,
    enabled boolean GENERATED ALWAYS AS ((definition ->> 'enabled')::boolean) STORED
);

CREATE UNIQUE INDEX event_handlers_key ON event_handlers (tenant_id, key) WHERE key IS NOT NULL;

CREATE INDEX event_handlers_of_tenant ON event_handlers (tenant_id, priority DESC, id);

CREATE INDEX event_handlers_of_job ON event_handlers (job_id) WHERE job_id IS NOT NULL;

-- A row of their own, all updates of it HOT, because every event and every end of its executions moves them.
CREATE TABLE event_handler_counters (
    handler_id uuid NOT NULL PRIMARY KEY REFERENCES event_handlers (id) ON DELETE CASCADE,
    triggered bigint NOT NULL DEFAULT 0,
    matched bigint NOT NULL DEFAULT 0,
    succeeded bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    last_triggered timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The revision of all event handlers together: nodes keep them at hand, and ask in each transaction whether they still
-- are what they were.
-- No row stands for revision 0.
CREATE TABLE event_registry (
    only_row boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (only_row),
    revision bigint NOT NULL
);

CREATE TABLE events (
    id uuid NOT NULL PRIMARY KEY,
    tenant_id text NOT NULL,
    name text COLLATE "C" NOT NULL,
    source text,
    subject text,
    origin text NOT NULL CHECK (origin IN ('http', 'cloudevents', 'stream', 'in_process', 'publish', 'fact')),
    idempotency_key text,
    occurred_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    depth smallint NOT NULL,
    cause uuid,
    correlation_id text,
    trace_id text NOT NULL,
    span_id text NOT NULL,
    parent_span_id text,
    trace_flags smallint NOT NULL,
    tracestate text,
    matched integer NOT NULL,
    attributes json NOT NULL,
    data json,
    -- So that whoever reads many knows how much it will be before.
    data_bytes integer GENERATED ALWAYS AS (octet_length(data::text)) STORED,
    impact json NOT NULL
);

-- The same key again answers the first event.
CREATE UNIQUE INDEX events_idempotency ON events (tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX events_of_tenant ON events (tenant_id, received_at, id);

CREATE INDEX events_by_name ON events (tenant_id, name, received_at, id);

-- What retention and replays of every tenant walk along.
CREATE INDEX events_received ON events (received_at, id);

-- What flow control remembers of one key of one handler.
CREATE TABLE event_flows (
    handler_id uuid NOT NULL REFERENCES event_handlers (id) ON DELETE CASCADE,
    flow_key text COLLATE "C" NOT NULL,
    seen_until timestamptz,
    rate_limit_at timestamptz,
    throttle_at timestamptz,
    gathering_id uuid,
    -- When the row says nothing any more, unless a gathering is open.
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (handler_id, flow_key)
) WITH (fillfactor = 70);

CREATE INDEX event_flows_expired ON event_flows (expires_at) WHERE gathering_id IS NULL;

-- Events that wait for a handler.
CREATE TABLE event_gatherings (
    id uuid NOT NULL PRIMARY KEY,
    handler_id uuid NOT NULL REFERENCES event_handlers (id) ON DELETE CASCADE,
    flow_key text COLLATE "C" NOT NULL,
    tenant_id text NOT NULL,
    event_ids uuid[] NOT NULL,
    first_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    superseded integer NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX event_gatherings_due ON event_gatherings (due_at, id);

CREATE INDEX event_gatherings_of_handler ON event_gatherings (handler_id);

-- Who listens to facts: event handlers whose pattern may match one, for as long as they are there, and listeners until
-- their lease is over.
CREATE TABLE event_listeners (
    name text NOT NULL PRIMARY KEY,
    handler_id uuid REFERENCES event_handlers (id) ON DELETE CASCADE,
    tenant_id text,
    pattern text NOT NULL,
    -- Whether it would hear that an execution has started: a claim, which is one statement, asks for nothing else.
    hears_starts boolean NOT NULL,
    expires_at timestamptz,
    -- From which transaction on a listener has heard all without a gap; unknown until nobody is left who does not know
    -- of it.
    since xid8
);

CREATE INDEX event_listeners_of_handler ON event_listeners (handler_id) WHERE handler_id IS NOT NULL;

-- The outbox. Rows are read in the order of the transactions that wrote them, and only those older than every
-- transaction still open: so nobody who reads on from a position ever misses what was committed late.
CREATE TABLE outbox (
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    sequence bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant_id text NOT NULL,
    at timestamptz NOT NULL,
    event json NOT NULL,
    PRIMARY KEY (transaction_id, sequence)
);

CREATE INDEX outbox_of_tenant ON outbox (tenant_id, transaction_id, sequence);

CREATE INDEX outbox_at ON outbox (at);

-- Up to where named consumers have come.
CREATE TABLE outbox_consumers (
    name text NOT NULL PRIMARY KEY,
    transaction_id xid8 NOT NULL,
    sequence bigint NOT NULL
);

-- The last that was removed, so that nobody reads on from what stood before it; no row where nothing was.
CREATE TABLE outbox_end (
    only_row boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (only_row),
    transaction_id xid8 NOT NULL,
    sequence bigint NOT NULL
);
