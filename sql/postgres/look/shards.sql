-- The shards that this node knows, by what it knows of them: few rows however
-- many shards. $1 is the cluster, $2 this node's name, $3 the layout.
SELECT state,
       CASE WHEN state = 'moved' THEN node END AS home,
       layout = $3 AS same_layout,
       (cluster IS NOT DISTINCT FROM $1
        AND node IS NOT DISTINCT FROM $2
        AND system_identifier IS NOT DISTINCT FROM (SELECT c.system_identifier FROM pg_control_system() c)
        AND database IS NOT DISTINCT FROM current_database()) AS stamped,
       state = 'moved' AND EXISTS
           (SELECT FROM pg_class c
              JOIN pg_publication_namespace n ON n.pnnspid = c.relnamespace
              JOIN pg_publication p ON p.oid = n.pnpubid
             WHERE c.oid = sequence AND p.pubname ~ '^shardid_(move|back)_[0-9]+$') AS is_sent,
       array_agg(shard ORDER BY shard) AS shards
  FROM shardid.shard
 GROUP BY 1, 2, 3, 4, 5
