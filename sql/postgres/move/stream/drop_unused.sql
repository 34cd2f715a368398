-- What drops the functions of event triggers that are gone, with the schemas ($1) that were made for them, if they are there.
SELECT format('DROP FUNCTION %1$I.%2$I(); DROP SCHEMA %1$I', n.nspname, p.proname) AS statement
  FROM pg_namespace n
  JOIN pg_roles o ON o.oid = n.nspowner AND o.rolsuper
  JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname IN ('keep_kinds', 'keep_name')
 WHERE n.nspname = ANY ($1::text[]) AND NOT EXISTS (SELECT FROM pg_event_trigger e WHERE e.evtfoid = p.oid)
