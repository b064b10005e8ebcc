DROP TABLE dispatch_era, dispatch_floors, frontiers;
