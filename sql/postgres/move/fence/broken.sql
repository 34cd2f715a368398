-- Where a fence around a schema ($1) does not hold: the table, the trigger that is not there, is off, or is not ours;
-- what that calls then and who owns it, and the trigger as a statement names it. Whoever has TRIGGER on a table may
-- put one of his in its place.
SELECT format('%I.%I', n.nspname, c.relname) AS table_name, f.name AS trigger_name, t.oid IS NULL AS is_missing,
       CASE WHEN t.tgfoid <> to_regprocedure('shardid.refuse_write()') THEN t.tgfoid::regprocedure::text END AS calls,
       CASE WHEN t.tgfoid <> to_regprocedure('shardid.refuse_write()') THEN pg_get_userbyid(p.proowner)::text END AS owner
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN (VALUES ('shardid_fence', ARRAY['r', 'p']), ('shardid_fence_rows', ARRAY['r'])) AS f(name, kinds)
  LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = f.name
  LEFT JOIN pg_proc p ON p.oid = t.tgfoid
 WHERE n.nspname = $1 AND c.relkind::text = ANY (f.kinds)
   AND (t.oid IS NULL OR t.tgfoid IS DISTINCT FROM to_regprocedure('shardid.refuse_write()') OR t.tgenabled <> 'A')
 ORDER BY c.oid, f.name
