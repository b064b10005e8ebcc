ALTER TABLE executions ADD CONSTRAINT executions_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs (id);
