-- Events, the standing rules about them, and the outbox. Instants are microseconds since 1970 in UTC.

-- The traces of executions go on with the flags and the vendors' words of whoever began them. Of what is older nobody
-- knows more than that it was traced.
ALTER TABLE executions ADD COLUMN trace_flags INTEGER NOT NULL DEFAULT 1;
ALTER TABLE executions ADD COLUMN tracestate TEXT;
ALTER TABLE executions ADD COLUMN event_handler_id TEXT;
ALTER TABLE executions ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;

CREATE INDEX executions_of_event ON executions (event_id, scheduled_at, id) WHERE event_id IS NOT NULL;

-- The span under which a job was made, as a traceparent, with its tracestate behind a space; and how many events in a
-- row led to it.
ALTER TABLE jobs ADD COLUMN created_in TEXT;
ALTER TABLE jobs ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;

-- What a later event finds again by its key.
CREATE INDEX jobs_live_key ON jobs (tenant_id, key)
WHERE key IS NOT NULL AND deleted_at IS NULL AND status IN ('pending', 'active', 'paused');

CREATE TABLE event_handlers (
    id TEXT NOT NULL PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- The job of its own, of an action that calls a handler directly.
    job_id TEXT REFERENCES jobs (id) ON DELETE SET NULL,
    definition TEXT NOT NULL CHECK (json_valid(definition)),
    event TEXT GENERATED ALWAYS AS (json_extract(definition, '$.event')) VIRTUAL,
    key TEXT GENERATED ALWAYS AS (json_extract(definition, '$.key')) VIRTUAL,
    priority INTEGER GENERATED ALWAYS AS (json_extract(definition, '$.priority')) VIRTUAL,
    enabled INTEGER GENERATED ALWAYS AS (json_extract(definition, '$.enabled')) VIRTUAL
);

CREATE UNIQUE INDEX event_handlers_key ON event_handlers (tenant_id, key) WHERE key IS NOT NULL;

CREATE INDEX event_handlers_of_tenant ON event_handlers (tenant_id, priority DESC, id);

CREATE INDEX event_handlers_of_job ON event_handlers (job_id) WHERE job_id IS NOT NULL;

CREATE TABLE event_handler_counters (
    handler_id TEXT NOT NULL PRIMARY KEY REFERENCES event_handlers (id) ON DELETE CASCADE,
    triggered INTEGER NOT NULL DEFAULT 0,
    matched INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    last_triggered INTEGER
) WITHOUT ROWID;

-- The revision of all event handlers together: nodes keep them at hand, and ask in each transaction whether they still
-- are what they were.
CREATE TABLE event_registry (
    only_row INTEGER NOT NULL PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
    revision INTEGER NOT NULL
);

INSERT INTO event_registry (revision) VALUES (0);

CREATE TABLE events (
    id TEXT NOT NULL PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    source TEXT,
    subject TEXT,
    origin TEXT NOT NULL CHECK (origin IN ('http', 'cloudevents', 'stream', 'in_process', 'publish', 'fact')),
    idempotency_key TEXT,
    occurred_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    cause TEXT,
    correlation_id TEXT,
    trace_id TEXT NOT NULL,
    span_id TEXT NOT NULL,
    parent_span_id TEXT,
    trace_flags INTEGER NOT NULL,
    tracestate TEXT,
    matched INTEGER NOT NULL,
    -- How long the data is, ahead of the columns that may be long, so that it is known without reading them.
    data_bytes INTEGER NOT NULL GENERATED ALWAYS AS (ifnull(length(CAST(data AS BLOB)), 0)) STORED,
    attributes TEXT NOT NULL CHECK (json_valid(attributes)),
    data TEXT CHECK (data IS NULL OR json_valid(data)),
    impact TEXT NOT NULL CHECK (json_valid(impact))
);

-- The same key again answers the first event.
CREATE UNIQUE INDEX events_idempotency ON events (tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- With the name, so that those of one name are told apart without reading their rows.
CREATE INDEX events_of_tenant ON events (tenant_id, received_at, id, name);

-- What retention walks along.
CREATE INDEX events_received ON events (received_at, id);

-- What flow control remembers of one key of one handler.
CREATE TABLE event_flows (
    handler_id TEXT NOT NULL REFERENCES event_handlers (id) ON DELETE CASCADE,
    flow_key TEXT NOT NULL,
    seen_until INTEGER,
    rate_limit_at INTEGER,
    throttle_at INTEGER,
    gathering_id TEXT,
    -- When the row says nothing any more, unless a gathering is open.
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (handler_id, flow_key)
) WITHOUT ROWID;

CREATE INDEX event_flows_expired ON event_flows (expires_at) WHERE gathering_id IS NULL;

-- Events that wait for a handler.
CREATE TABLE event_gatherings (
    id TEXT NOT NULL PRIMARY KEY,
    handler_id TEXT NOT NULL REFERENCES event_handlers (id) ON DELETE CASCADE,
    flow_key TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    superseded INTEGER NOT NULL,
    event_ids TEXT NOT NULL CHECK (json_valid(event_ids))
);

CREATE INDEX event_gatherings_due ON event_gatherings (due_at, id);

-- What retention spares.
CREATE INDEX event_gatherings_begun ON event_gatherings (first_at);

CREATE INDEX event_gatherings_of_handler ON event_gatherings (handler_id);

-- Who listens to facts: event handlers whose pattern may match one, for as long as they are there, and listeners until
-- their lease is over.
CREATE TABLE event_listeners (
    name TEXT NOT NULL PRIMARY KEY,
    handler_id TEXT REFERENCES event_handlers (id) ON DELETE CASCADE,
    tenant_id TEXT,
    pattern TEXT NOT NULL,
    -- From which position of the outbox on a listener with a lease has listened without a gap.
    since INTEGER,
    expires_at INTEGER
) WITHOUT ROWID;

CREATE INDEX event_listeners_of_handler ON event_listeners (handler_id) WHERE handler_id IS NOT NULL;

-- The outbox. There is one writer, so positions are the order of commits, and none is given twice.
CREATE TABLE outbox (
    position INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL CHECK (json_valid(event))
);

CREATE INDEX outbox_of_tenant ON outbox (tenant_id, position);

-- The engine counts from here, also before the first event.
INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', 0);

-- The position of the last event that was removed.
CREATE TABLE outbox_end (
    only_row INTEGER NOT NULL PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
    position INTEGER NOT NULL
);

INSERT INTO outbox_end (position) VALUES (0);

CREATE TABLE outbox_consumers (
    name TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL
) WITHOUT ROWID;
