-- Of what a fire costs the server, the better part of an insert was to look up the job of each new execution, which the
-- transaction holds locked anyway; and a job is only removed once it has been deleted for long and no execution is left.
ALTER TABLE executions DROP CONSTRAINT executions_job_id_fkey;
