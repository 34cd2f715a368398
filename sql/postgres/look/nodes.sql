-- The nodes that the catalogue knows.
SELECT node, weight, system_identifier, database FROM shardid.node ORDER BY node
