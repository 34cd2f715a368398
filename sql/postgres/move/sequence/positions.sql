-- Where every sequence of a schema ($1) stands, as statements for the other copy.
-- Read by number: a name may be that of a view by now, whose functions would run here with
-- our rights, and whose text there. pg_sequences does not say where one stands that was
-- restarted and not used since.
SELECT format('SELECT pg_catalog.setval(%L, %s, %L)', format('%I.%I', n.nspname, c.relname), s.last_value, s.is_called) AS statement
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL shardid.read_sequence(c.oid) s
 WHERE n.nspname = $1 AND c.relkind = 'S'
 ORDER BY c.relname
