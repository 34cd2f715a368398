-- A statement by which those that follow in a superuser's transaction are on behalf of who owns a table ($1).
SELECT format('SET LOCAL shardid.on_behalf_of = %L', o.rolname) AS statement
  FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner
 WHERE c.oid = $1::text::regclass AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
