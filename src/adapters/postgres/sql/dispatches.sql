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
-- walking the index in its order suits best however wrong its figures are. Answers one row at least, so that a
-- taker whom others forestalled knows that there was something.
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
    SELECT best.number, count(*) AS amount
    FROM (SELECT seen.number FROM seen ORDER BY seen.place > seen.share, seen.priority DESC, seen.id LIMIT :limit) AS best
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
            WHERE d.capability = asked.capability AND d.priority BETWEEN asked.low AND asked.high AND d.id > asked.floor
            ORDER BY d.priority DESC, d.id
            LIMIT chosen.amount
            FOR UPDATE SKIP LOCKED
        ) AS free
    ))
    RETURNING id, execution_id, capability, priority
)

SELECT taken.id, taken.execution_id, taken.capability, taken.priority, there.amount
FROM (SELECT count(*) AS amount FROM chosen) AS there
LEFT JOIN taken ON true;

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
