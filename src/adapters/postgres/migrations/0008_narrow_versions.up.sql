-- compatible: no
-- A version that leaves its job's definition as it was does not repeat it: of `before` and `after` it has the status and
-- whether the job is deleted, and the definition is that of the last version that has one. Older nodes cannot read it.

-- In the order of whoever changes a job, so that neither ends the other.
LOCK TABLE jobs, job_versions IN ACCESS EXCLUSIVE MODE;

-- To look the job up for each new version took more than to write it, though the transaction has that job locked, or
-- has just made it; they are removed with it.
ALTER TABLE job_versions DROP CONSTRAINT job_versions_job_id_fkey;

-- Where an update concerns none of a table's generated columns, the server (16 and later) reads the expressions of all
-- of them anew for every single row, which took two fifths of a fire's update. It reads those of a statement once if one
-- is concerned, so one is, by what every fire and every end of a job sets.
ALTER TABLE jobs ADD COLUMN is_planned boolean NOT NULL GENERATED ALWAYS AS (next_run IS NOT NULL) STORED;
