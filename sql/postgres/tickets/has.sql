-- Which of our things are there, where a superuser has made them. Shards of a PostgreSQL node are the map's.
SELECT coalesce(bool_or(c.relname = 'ticket'), false) AS tickets,
       coalesce(bool_or(c.relname = 'ticket_change'), false) AS catalog,
       false AS shards
  FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner
 WHERE c.relnamespace = to_regnamespace('shardid') AND c.relkind = 'r' AND (o.rolsuper OR o.rolname = current_user)
