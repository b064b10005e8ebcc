DROP TABLE job_versions;
DROP TABLE job_counters;
DROP TABLE jobs;
