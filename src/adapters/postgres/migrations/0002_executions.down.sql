DROP TABLE execution_logs;
DROP TABLE executions;
