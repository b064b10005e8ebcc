-- Which jobs may have fired lately: what the ledger watches, however many have ended.

CREATE INDEX jobs_active ON jobs (id) WHERE status = 'active';

CREATE INDEX jobs_changed ON jobs (updated_at, id) WHERE status <> 'active';
