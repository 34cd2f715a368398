-- A statement that says where every sequence of a schema stands, as statements
-- for the other copy. The sequences themselves are read: pg_sequences does not
-- say where one stands that was restarted and not used since.
SELECT string_agg(
           format('SELECT pg_catalog.format(''SELECT pg_catalog.setval(%%L, %%s, %%L)'', %L, last_value, is_called) FROM %s',
                  name, name),
           ' UNION ALL ' ORDER BY name) AS statement
  FROM (SELECT format('%I.%I', n.nspname, c.relname) AS name
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $1 AND c.relkind = 'S') AS sequences
HAVING count(*) > 0
