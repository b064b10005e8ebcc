ALTER TABLE dispatches ALTER COLUMN id DROP DEFAULT;

ALTER TABLE dispatches ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY;

SELECT setval(pg_get_serial_sequence('dispatches', 'id'), nextval('dispatch_numbers'));

DROP SEQUENCE dispatch_numbers;

DROP TABLE dispatch_floors, frontiers;
