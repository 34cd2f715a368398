-- Notes which program brought the catalog's tables up to date.
UPDATE shardid.catalog SET program = $1
