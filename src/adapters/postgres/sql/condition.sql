-- name: condition
-- What durability and capacity depend on; connections are counted where anybody may look.
SELECT
    clock_timestamp() AS now,
    current_setting('server_version') AS version,
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('max_connections') AS max_connections,
    current_setting('superuser_reserved_connections') AS superuser_reserved_connections,
    CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END AS in_recovery,
    (SELECT sum(numbackends) FROM pg_stat_database) AS connections;

-- name: lapsed_leases
-- As the sweeper finds them, by the claims that hold them.
SELECT count(*) AS count
FROM executions
WHERE
    id = ANY(ARRAY(SELECT DISTINCT unnest(execution_ids) FROM claims))
    AND lease_expires_at < clock_timestamp() - :lapsed_for::interval;
