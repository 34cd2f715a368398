-- Notes how the sequences of a copy go on that a subscription ($1) fills ($2): it is there until the shard is. Where
-- only what is missing is to be noted ($4), not beside what is noted of that move ($3; 0 where nobody knows its number).
-- One that is noted already keeps its name: the copy's is not renamed with the original. What was made under such a name
-- since is none of the copy's.
SELECT format('COMMENT ON SUBSCRIPTION %I IS %L', s.subname,
              jsonb_set($2::jsonb, '{sequences}',
                        (SELECT coalesce(jsonb_agg(q.noted || jsonb_build_object('name', q.name) ORDER BY q.at), '[]')
                           FROM (SELECT now.noted, now.at, before.noted IS NULL AS is_new, coalesce(before.noted, now.noted) -> 'name' AS name,
                                        bool_or(before.noted IS NOT NULL) OVER (PARTITION BY coalesce(before.noted, now.noted) -> 'name') AS is_taken
                                   FROM jsonb_array_elements($2::jsonb -> 'sequences') WITH ORDINALITY AS now (noted, at)
                                   LEFT JOIN jsonb_array_elements(CASE WHEN s.is_noted THEN s.note::jsonb -> 'sequences' END) AS before (noted)
                                     ON before.noted -> 'of' = now.noted -> 'of') AS q
                          WHERE NOT (q.is_new AND q.is_taken)))::text) AS statement
  FROM (SELECT s.subname, d.note, coalesce(d.note ~ format('^{"move": %s, "sequences": ', coalesce(nullif($3::bigint, 0)::text, '[0-9]+')), false) AS is_noted
          FROM pg_subscription s
          JOIN pg_database b ON b.oid = s.subdbid AND b.datname = current_database()
         CROSS JOIN LATERAL obj_description(s.oid, 'pg_subscription') AS d(note)
         WHERE s.subname = $1) AS s
 WHERE NOT ($4::boolean AND s.is_noted)
