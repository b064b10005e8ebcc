ALTER TABLE workers DROP COLUMN anomalies;
