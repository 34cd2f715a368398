-- Statements that take the triggers for rows away from a copy of a schema ($1) into which sessions of the program copy: they would
-- be asked for each row, on behalf of who owns the table.
SELECT format('DROP TRIGGER %I ON %I.%I', t.tgname, n.nspname, c.relname) AS statement
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND t.tgname = 'shardid_fence_rows' AND t.tgfoid = to_regprocedure('shardid.refuse_write()')
 ORDER BY c.oid
