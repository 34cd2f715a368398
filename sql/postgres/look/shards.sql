-- The shards that this node knows, by what it knows of them: few rows however
-- many shards. $1 is the cluster, $2 this node's name, $3 the layout.
SELECT state,
       CASE WHEN state = 'moved' THEN node END AS home,
       layout = $3 AS same_layout,
       (cluster IS NOT DISTINCT FROM $1
        AND node IS NOT DISTINCT FROM $2
        AND system_identifier IS NOT DISTINCT FROM (SELECT c.system_identifier FROM pg_control_system() c)
        AND database IS NOT DISTINCT FROM current_database()) AS stamped,
       -- Where they were taken in for this cluster, in a database that this one is a copy of.
       CASE WHEN cluster = $1 AND state <> 'moved' THEN system_identifier END AS server,
       CASE WHEN cluster = $1 AND state <> 'moved' THEN database END AS database,
       -- What is published is looked up once: a node knows all shards of the cluster.
       (state = 'moved' AND coalesce(sequence IN
           (SELECT c.oid
              FROM pg_publication p
              JOIN pg_publication_namespace n ON n.pnpubid = p.oid
              JOIN pg_class c ON c.relnamespace = n.pnnspid AND c.relkind = 'S'
             WHERE p.pubname ~ '^shardid_(move|back)_[0-9]+$'), false)) AS is_sent,
       -- Its rows of then are here, where no retire has dropped them.
       (state = 'moved' AND coalesce(sequence IN (SELECT c.oid FROM pg_class c WHERE c.relkind = 'S'), false)) AS is_copy,
       array_agg(shard ORDER BY shard) AS shards
  FROM shardid.shard
 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
