-- name: insert_dispatches
-- In the order of their keys, so that two who hand on the same ones never wait for each other in a circle.
INSERT INTO dispatches (execution_id, capability, priority)
SELECT execution_id, capability, priority
FROM unnest(:execution_id::uuid[], :capability::text[], :priority::smallint[])
    AS handed_on (execution_id, capability, priority)
ORDER BY execution_id, capability
ON CONFLICT (execution_id, capability) DO NOTHING;

-- name: take_dispatches
-- The first look locks nothing and finds how many to take from each range of the index; the second locks only those,
-- passing over what others are taking. Each look's limit is a column: to the planner it is then a small part, which
-- walking the index in its order suits best however wrong its figures are. The second begins where the first found
-- something: what is passed on the way there may be rows long gone, and many. Answers one row at least, so that a taker
-- whom others forestalled knows in which ranges, counted from 1, there was something.
WITH asked AS MATERIALIZED (
    SELECT range.*, :limit::integer AS most
    FROM unnest(
        :capability::text[], :band::smallint[], :low::smallint[], :high::smallint[], :floor::bigint[], :share::integer[]
    ) WITH ORDINALITY AS range (capability, band, low, high, floor, share, number)
),

seen AS (
    SELECT
        asked.number,
        asked.share,
        first.priority,
        first.id,
        row_number() OVER (PARTITION BY asked.band ORDER BY first.priority DESC, first.id) AS place
    FROM asked
    CROSS JOIN LATERAL (
        SELECT d.priority, d.id
        FROM dispatches AS d
        WHERE d.capability = asked.capability AND d.priority BETWEEN asked.low AND asked.high AND d.id > asked.floor
        ORDER BY d.priority DESC, d.id
        LIMIT asked.most
    ) AS first
),

chosen AS (
    SELECT best.number, count(*) AS amount, min(best.id) AS first_id
    FROM (SELECT seen.number, seen.id FROM seen ORDER BY seen.place > seen.share, seen.priority DESC, seen.id LIMIT :limit) AS best
    GROUP BY best.number
),

taken AS (
    DELETE FROM dispatches
    WHERE ctid = ANY (ARRAY(
        SELECT free.ctid
        FROM chosen
        JOIN asked USING (number)
        CROSS JOIN LATERAL (
            SELECT d.ctid
            FROM dispatches AS d
            WHERE
                d.capability = asked.capability AND d.priority BETWEEN asked.low AND asked.high
                AND d.id >= chosen.first_id
            ORDER BY d.priority DESC, d.id
            LIMIT chosen.amount
            FOR UPDATE SKIP LOCKED
        ) AS free
    ))
    RETURNING id, execution_id, capability, priority
)

SELECT taken.id, taken.execution_id, taken.capability, taken.priority, there.ranges
FROM (SELECT ARRAY(SELECT DISTINCT number FROM seen) AS ranges) AS there
LEFT JOIN taken ON true;

-- name: known_floors
-- Up to where queues are known to be empty, the latest first.
SELECT capability, priority, number FROM dispatch_floors ORDER BY noted_at DESC, capability, priority LIMIT :most;

-- name: note_floors
-- Of all nodes one tells of a queue now and then: each that does leaves a row behind while a snapshot is held.
INSERT INTO dispatch_floors AS known (capability, priority, number, noted_at)
SELECT told.capability, told.priority, told.number, now()
FROM unnest(:capability::text[], :priority::smallint[], :number::bigint[]) AS told (capability, priority, number)
WHERE NOT EXISTS (
    SELECT FROM dispatch_floors AS f
    WHERE f.capability = told.capability AND f.priority = told.priority AND f.noted_at > now() - :pause::interval
)
ORDER BY told.capability, told.priority
ON CONFLICT (capability, priority) DO UPDATE
SET number = greatest(known.number, excluded.number), noted_at = excluded.noted_at;

-- name: missing_dispatches
-- Answers by number: what was asked need not come back.
SELECT asked.number - 1 AS number
FROM unnest(:execution_id::uuid[], :capability::text[]) WITH ORDINALITY AS asked (execution_id, capability, number)
WHERE NOT EXISTS (
    SELECT FROM dispatches AS d WHERE d.execution_id = asked.execution_id AND d.capability = asked.capability
)
ORDER BY asked.number;

-- name: forget_settled_dispatches
-- What was cancelled before anybody who can run it looked would lie here for ever, were its handler gone for good.
DELETE FROM dispatches
WHERE ctid = ANY (ARRAY(
    SELECT d.ctid
    FROM dispatches AS d
    WHERE NOT EXISTS (SELECT FROM executions AS e WHERE e.id = d.execution_id AND e.status = 'pending')
    LIMIT :limit
    FOR UPDATE OF d SKIP LOCKED
));
