-- What a schema holds that logical replication does not carry.
SELECT CASE
           WHEN c.relkind = 'f' THEN format('%I.%I is a foreign table', n.nspname, c.relname)
           WHEN c.relkind = 'm' THEN format('%I.%I is a materialized view, whose rows are not carried', n.nspname, c.relname)
           ELSE format('%I.%I is unlogged, and its rows are not carried', n.nspname, c.relname)
       END AS problem,
       CASE
           WHEN c.relkind = 'f' THEN format('DROP FOREIGN TABLE %I.%I; and make it anew on the other node', n.nspname, c.relname)
           WHEN c.relkind = 'm' THEN format('DROP MATERIALIZED VIEW %I.%I; and make it anew on the other node', n.nspname, c.relname)
           ELSE format('ALTER TABLE %I.%I SET LOGGED;', n.nspname, c.relname)
       END AS hint
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND (c.relkind IN ('f', 'm') OR (c.relkind IN ('r', 'p') AND c.relpersistence = 'u'))
