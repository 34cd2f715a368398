-- Whether this node keeps a catalog, with a journal of moves.
SELECT count(*) = 2 AS is_there
  FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner
 WHERE c.relnamespace = to_regnamespace('shardid') AND c.relname IN ('catalog', 'move') AND c.relkind = 'r'
   AND (o.rolsuper OR NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))
