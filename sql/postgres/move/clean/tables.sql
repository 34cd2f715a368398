-- The tables of a schema ($1), and whether each is a partition: those go when their time is over.
SELECT c.relname::text AS name, c.relispartition AS is_partition
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
 ORDER BY 1
