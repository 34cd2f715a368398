-- A node as the cluster file has it. $5 is who says so.
INSERT INTO shardid.node AS n (node, weight, system_identifier, database, joined_by)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (node) DO UPDATE
   SET weight = excluded.weight,
       system_identifier = excluded.system_identifier,
       database = excluded.database
 WHERE (n.weight, n.system_identifier, n.database)
    IS DISTINCT FROM (excluded.weight, excluded.system_identifier, excluded.database)
