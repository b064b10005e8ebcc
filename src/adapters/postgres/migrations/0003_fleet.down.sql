DROP TABLE locks;
DROP TABLE workers;
