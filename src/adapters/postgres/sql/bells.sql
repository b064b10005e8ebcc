-- name: ring_bells
-- All that rang at one time is one transaction, since every NOTIFY that commits waits for the one before.
SELECT pg_notify(:channel, name || '@' || :ringer) FROM unnest(:names::text[]) AS rung(name);
