-- Notes which program brought the catalogue's tables up to date.
UPDATE shardid.catalog SET program = $1
