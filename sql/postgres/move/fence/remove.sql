-- Drops what switch_off.sql has switched off in a schema ($2) of a shard ($1).
SELECT format('DROP TRIGGER %I ON %I.%I', t.tgname, n.nspname, c.relname) AS statement
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $2 AND t.tgfoid = to_regprocedure('shardid.refuse_write()') AND t.tgenabled = 'D'
   AND EXISTS (SELECT FROM shardid.shard WHERE shard = $1 AND state = 'open')
 ORDER BY c.oid, t.tgname
