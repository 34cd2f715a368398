-- Has the triggers of an old copy ($1, its schema) refuse clients, and let through what follows the new copy.
SELECT format('ALTER TABLE ONLY %I.%I ENABLE TRIGGER shardid_fence', n.nspname, c.relname) AS statement
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND t.tgname = 'shardid_fence' AND t.tgenabled <> 'O'
 ORDER BY c.oid
