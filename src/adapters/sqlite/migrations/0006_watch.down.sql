DROP INDEX jobs_changed;
DROP INDEX jobs_active;
