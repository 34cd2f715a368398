-- Where every sequence of a schema stands, as statements for the other copy.
SELECT format('SELECT pg_catalog.setval(%L, %s, %L)',
              format('%I.%I', s.schemaname, s.sequencename),
              coalesce(s.last_value, s.start_value),
              s.last_value IS NOT NULL) AS statement
  FROM pg_sequences s
 WHERE s.schemaname = $1
 ORDER BY s.sequencename
