DROP TABLE outbox_end, outbox_consumers, outbox, event_listeners, event_gatherings, event_flows, events, event_registry,
event_handler_counters, event_handlers;

ALTER TABLE jobs DROP COLUMN created_in, DROP COLUMN depth;

DROP INDEX executions_of_event;

ALTER TABLE executions DROP COLUMN trace_flags, DROP COLUMN tracestate, DROP COLUMN event_handler_id, DROP COLUMN depth;

DROP INDEX jobs_key;

CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, handler_name, key)
WHERE key IS NOT NULL AND status <> 'cancelled' AND deleted_at IS NULL;
