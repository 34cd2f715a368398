-- Which names the sequences of a schema ($2) have by now that were noted with the subscription ($1) that has filled it for a move
-- ($3; 0 where nobody knows its number): each by its name there, and the one that it has here.
SELECT known.name AS noted, c.relname::text AS name
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 CROSS JOIN LATERAL obj_description(s.oid, 'pg_subscription') AS noted (note)
 CROSS JOIN LATERAL jsonb_to_recordset(CASE WHEN note ~ format('^{"move": %s, "sequences": ', coalesce(nullif($3::bigint, 0)::text, '[0-9]+'))
                                            THEN note::jsonb -> 'sequences' ELSE '[]' END) AS known (name text, copy text)
  JOIN pg_namespace n ON n.nspname = $2
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'S'
   AND format('%s/%s/%s', (SELECT system_identifier FROM pg_control_system()), d.oid, c.oid) = known.copy
 WHERE s.subname = $1
