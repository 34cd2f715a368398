-- Which names the generators of a schema ($2) have by now that were noted with the subscription ($1) that has filled it for a move
-- ($3; 0 where nobody knows its number): each by its name there, and the one that it has here. One that is gone has that of a sequence
-- which was given its name since, if that is none that was noted by another one.
SELECT known.name AS noted, (
           SELECT c.relname::text FROM pg_class c
            WHERE c.relnamespace = n.oid AND c.relkind = 'S'
              AND (here.numbers || c.oid = known.copy
                   OR c.relname = known.name AND NOT EXISTS (SELECT FROM jsonb_to_recordset(list.sequences) AS o (name text, copy text)
                                                              WHERE o.copy = here.numbers || c.oid AND o.name <> known.name))
            ORDER BY here.numbers || c.oid IS DISTINCT FROM known.copy LIMIT 1) AS name
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
  JOIN pg_namespace n ON n.nspname = $2
 CROSS JOIN LATERAL (SELECT format('%s/%s/', (SELECT system_identifier FROM pg_control_system()), d.oid) AS numbers) AS here
 CROSS JOIN LATERAL obj_description(s.oid, 'pg_subscription') AS noted (note)
 CROSS JOIN LATERAL (SELECT CASE WHEN note ~ format('^{"move": %s, "sequences": ', coalesce(nullif($3::bigint, 0)::text, '[0-9]+'))
                                 THEN note::jsonb -> 'sequences' ELSE '[]' END AS sequences) AS list
 CROSS JOIN LATERAL jsonb_to_recordset(list.sequences) AS known (name text, copy text, layout text)
 WHERE s.subname = $1 AND known.layout IS NOT NULL
