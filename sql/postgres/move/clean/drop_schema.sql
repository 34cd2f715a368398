-- Drops a copy ($1) of a shard ($2) with all that is in it, and what is known of
-- its sequences.
SELECT statement FROM (
    SELECT 1 AS step, format('DELETE FROM shardid.id_sequence s USING pg_class c WHERE c.oid = s.sequence AND c.relnamespace = %L::regnamespace', quote_ident(nspname)) AS statement
      FROM pg_namespace WHERE nspname = $1
    UNION ALL
    SELECT 2, format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace WHERE nspname = $1
    UNION ALL
    SELECT 3, format('UPDATE shardid.shard SET sequence = NULL WHERE shard = %s AND state = ''moved'' AND sequence IS NOT NULL', $2::integer)
) AS steps
 ORDER BY step
