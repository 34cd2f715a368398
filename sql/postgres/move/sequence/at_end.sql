-- The sequences of a schema ($1) that have come to their end, but for generators and those of which it is known how they go on: by a
-- list ($2), or by the note with the subscription ($3) that has filled it for a move ($4; 0 where nobody knows its number). Read by
-- number, and only what is found to be one: OFFSET keeps the planner from calling the function before it has joined.
SELECT member.name
  FROM (SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name,
               CASE WHEN q.seqincrement > 0 THEN q.seqmax ELSE q.seqmin END AS last
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_sequence q ON q.seqrelid = c.oid
         WHERE n.nspname = $1 AND NOT q.seqcycle
           AND NOT EXISTS (SELECT FROM shardid.shard s WHERE s.sequence::oid = c.oid)
           AND NOT EXISTS (SELECT FROM shardid.id_sequence i WHERE i.sequence::oid = c.oid)
           AND NOT EXISTS (SELECT FROM jsonb_to_recordset($2::jsonb) AS known (name text, at text)
                            CROSS JOIN LATERAL (SELECT format('%s/%s/', (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database())) AS numbers) here
                            WHERE CASE WHEN starts_with(known.at, here.numbers) THEN here.numbers || c.oid = known.at ELSE known.name = c.relname END)
           AND NOT EXISTS (
               SELECT FROM pg_subscription s
                 JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
                CROSS JOIN LATERAL obj_description(s.oid, 'pg_subscription') AS noted (note)
                CROSS JOIN LATERAL jsonb_to_recordset(CASE WHEN note ~ format('^{"move": %s, "sequences": ', coalesce(nullif($4::bigint, 0)::text, '[0-9]+'))
                                                           THEN note::jsonb -> 'sequences' ELSE '[]' END) AS known (name text, copy text)
                CROSS JOIN LATERAL (SELECT format('%s/%s/', (SELECT system_identifier FROM pg_control_system()), d.oid) AS numbers) here
                WHERE s.subname = $3
                  AND CASE WHEN starts_with(known.copy, here.numbers) THEN here.numbers || c.oid = known.copy ELSE known.name = c.relname END)
        OFFSET 0) AS member
 CROSS JOIN LATERAL shardid.read_sequence(member.oid) s
 WHERE s.is_called AND s.last_value = member.last
 ORDER BY 1
