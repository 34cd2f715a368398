-- The tables of a schema ($1) with about how many rows and bytes are to be copied.
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       CASE WHEN c.reltuples > 0 AND c.relpages > 0
            THEN c.reltuples::float8 / c.relpages * (pg_relation_size(c.oid) / current_setting('block_size')::integer)
            ELSE pg_relation_size(c.oid) / 100 END::bigint AS rows,
       pg_relation_size(c.oid) AS bytes
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'r'
