-- The tables of a schema that hold rows, with how many there may be: what the
-- server believes, or, since that may be old or missing, what has room; and how many
-- bytes they take, those of large values included.
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       greatest(c.reltuples, pg_relation_size(c.oid) / 200)::bigint AS rows,
       pg_table_size(c.oid) AS bytes
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'r'
 ORDER BY 1
