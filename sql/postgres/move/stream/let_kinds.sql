-- Takes away what keeps names of a schema from changing while a stream ($1) copies it, if it is there.
SELECT format('DROP EVENT TRIGGER IF EXISTS %1$I; DROP FUNCTION %1$I.keep_kinds(); DROP SCHEMA %1$I', n.nspname) AS statement
  FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner AND o.rolsuper
  JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'keep_kinds'
 WHERE n.nspname = $1 AND n.nspname ~ '^shardid_(move|back)_[0-9]+$'
