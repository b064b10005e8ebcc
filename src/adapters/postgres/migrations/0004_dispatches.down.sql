DROP TABLE dispatches;
