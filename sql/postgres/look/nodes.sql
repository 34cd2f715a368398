-- The nodes that the catalog knows.
SELECT node, weight, system_identifier, database FROM shardid.node ORDER BY node
