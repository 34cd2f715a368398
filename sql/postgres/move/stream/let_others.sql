-- Takes away what keeps a schema's name ($2) for moves that are over, of streams other than this one ($1): of a node that was
-- said to be gone, and has come back.
SELECT format('DROP EVENT TRIGGER IF EXISTS %I', substring(n.nspname FROM '^(.*)_[0-9a-f]{32}$') || '_name') AS statement,
       ARRAY[n.nspname::text] AS unused
  FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner AND o.rolsuper
  JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'keep_name'
 WHERE n.nspname ~ '^shardid_(move|back)_[0-9]+_[0-9a-f]{32}$' AND n.nspname !~ ('^' || $1 || '_[0-9a-f]{32}$')
   AND position(format('(n.nspname = %L)', $2::text) IN p.prosrc) > 0
