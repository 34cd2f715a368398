-- A statement by which those that follow in a superuser's transaction are on behalf of who owns a table ($1); where others
-- own a part of it, whose expressions are read with it, on behalf of everybody.
WITH RECURSIVE part AS (
    SELECT c.oid, c.relowner FROM pg_class c WHERE c.oid = $1::text::regclass
    UNION
    SELECT c.oid, c.relowner FROM part p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid
)
SELECT format('SET LOCAL shardid.on_behalf_of = %L', CASE count(DISTINCT p.relowner) WHEN 1 THEN min(o.rolname) ELSE 'public' END) AS statement
  FROM part p JOIN pg_roles o ON o.oid = p.relowner
 WHERE (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
HAVING count(*) > 0
