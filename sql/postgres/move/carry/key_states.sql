-- Triggers by which the server keeps the keys of a schema's tables, where ALTER TABLE ... DISABLE TRIGGER ALL, or
-- another state than the first, is set on one: pg_dump does not write that. The trigger's table, the key's table
-- and the key, the function, and the state. What a partition has of its parent's key follows the parent's.
SELECT format('%I.%I', on_n.nspname, on_table.relname) AS on_table,
       format('%I.%I', n.nspname, of_table.relname) AS of_table, k.conname::text AS key, p.proname::text AS function, t.tgenabled::text AS state
  FROM pg_trigger t
  JOIN pg_constraint k ON k.oid = t.tgconstraint
  JOIN pg_class on_table ON on_table.oid = t.tgrelid
  JOIN pg_namespace on_n ON on_n.oid = on_table.relnamespace
  JOIN pg_class of_table ON of_table.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = of_table.relnamespace
  JOIN pg_proc p ON p.oid = t.tgfoid
 WHERE n.nspname = $1 AND t.tgisinternal AND t.tgenabled <> 'O' AND k.conparentid = 0
 ORDER BY 1, 2, 3, 4
