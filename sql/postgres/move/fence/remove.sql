-- Drops what lower.sql and open.sql have switched off in a schema ($1).
SELECT format('DROP TRIGGER shardid_fence ON %I.%I', n.nspname, c.relname) AS statement
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND t.tgname = 'shardid_fence' AND t.tgenabled = 'D'
 ORDER BY c.oid
