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
-- something, in each queue by itself: what is passed on the way there may be rows long gone, and many. Answers one row at
-- least, so that a taker whom others forestalled knows what there was: ranges, counted from 1, priorities in them and the
-- first number of each.
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
    SELECT best.number, best.priority, count(*) AS amount, min(best.id) AS first_id
    FROM (SELECT * FROM seen ORDER BY place > share, priority DESC, id LIMIT :limit) AS best
    GROUP BY best.number, best.priority
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
            WHERE d.capability = asked.capability AND d.priority = chosen.priority AND d.id >= chosen.first_id
            ORDER BY d.id
            LIMIT chosen.amount
            FOR UPDATE SKIP LOCKED
        ) AS free
    ))
    RETURNING id, execution_id, capability, priority
)

SELECT taken.id, taken.execution_id, taken.capability, taken.priority, there.*, (SELECT era FROM dispatch_era) AS era
FROM (
    SELECT array_agg(number) AS ranges, array_agg(priority) AS priorities, array_agg(first_id) AS firsts
    FROM (SELECT number, priority, min(id) AS first_id FROM seen GROUP BY number, priority) AS queue
) AS there
LEFT JOIN taken ON true;

-- name: era
-- Which one it is since the server last lost what it logs nowhere, the numbers of dispatches among it, or since a node last
-- found wrong what others had told it. No row is answered to whom another node forestalls in beginning it.
WITH begun AS (INSERT INTO dispatch_era DEFAULT VALUES ON CONFLICT DO NOTHING RETURNING era)

SELECT era FROM dispatch_era
UNION ALL
SELECT era FROM begun;

-- name: begin_era
-- Where something lies below what was settled, nobody may believe it any longer. Only one of those who find it does this.
UPDATE dispatch_era SET era = gen_random_uuid() WHERE era = :ended RETURNING era;

-- name: forget_floors
-- A statement after `begin_era` and not a part of it, so that it sees what was told while that one waited.
DELETE FROM dispatch_floors;

-- name: known_floors
-- Up to where queues are known to be empty, the latest first.
SELECT capability, priority, number FROM dispatch_floors ORDER BY noted_at DESC, capability, priority LIMIT :most;

-- name: note_floors
-- Of all nodes one tells of a queue now and then: each that does leaves a row behind while a snapshot is held. The lock has
-- it wait for an era that is just beginning, in which it tells nothing.
WITH now_is AS (SELECT FROM dispatch_era WHERE era = :era FOR SHARE)

INSERT INTO dispatch_floors AS known (capability, priority, number, noted_at)
SELECT told.capability, told.priority, told.number, now()
FROM now_is
CROSS JOIN unnest(:capability::text[], :priority::smallint[], :number::bigint[]) AS told (capability, priority, number)
WHERE NOT EXISTS (
    SELECT FROM dispatch_floors AS f
    WHERE
        f.capability = told.capability AND f.priority = told.priority
        AND f.noted_at BETWEEN now() - :pause::interval AND now()
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
