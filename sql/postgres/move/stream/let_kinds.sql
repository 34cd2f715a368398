-- Takes away what keeps names of a schema from changing while a stream ($1) copies it, if it is there: the event
-- trigger, and its function when nobody runs it any more.
SELECT format('DROP EVENT TRIGGER IF EXISTS %I', $1::text) AS statement,
       ARRAY[n.nspname::text] AS unused
  FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner AND o.rolsuper
  JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'keep_kinds'
 WHERE $1 ~ '^shardid_(move|back)_[0-9]+$' AND n.nspname ~ ('^' || $1 || '(_[0-9a-f]{32})?$')
