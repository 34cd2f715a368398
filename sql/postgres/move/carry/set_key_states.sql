-- What brings triggers of keys into the states that they have on another node: their tables $1, the keys' tables $2 and
-- names $3, functions $4, states $5.
SELECT format('ALTER TABLE %s %s TRIGGER %I', t.tgrelid::regclass,
              CASE s.state WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' WHEN 'A' THEN 'ENABLE ALWAYS' END,
              t.tgname)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS s (on_table, of_table, key, function, state)
  JOIN pg_constraint k ON k.conrelid = to_regclass(s.of_table) AND k.conname = s.key
  JOIN pg_trigger t ON t.tgconstraint = k.oid AND t.tgisinternal AND t.tgrelid = to_regclass(s.on_table)
  JOIN pg_proc p ON p.oid = t.tgfoid AND p.proname = s.function
