-- Whether the schema whose name ($2) a stream's ($1) move keeps is still the one that has it: what was renamed and not
-- committed then has been waited for.
SELECT NOT EXISTS (
    SELECT FROM pg_event_trigger e JOIN pg_proc p ON p.oid = e.evtfoid
     WHERE e.evtname = $1 || '_name'
       AND substring(p.prosrc FROM 'n\.oid = ''([0-9]+)''')::oid IS DISTINCT FROM (SELECT n.oid FROM pg_namespace n WHERE n.nspname = $2)) AS is_kept
