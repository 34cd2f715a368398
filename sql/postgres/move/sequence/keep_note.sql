-- Notes how the sequences of a copy go on that a subscription ($1) fills ($2): it is there until the shard is. Where
-- only what is missing is to be noted ($4), not beside what is noted of that move ($3; 0 where nobody knows its number).
-- One that is noted already keeps its name: the copy's is not renamed with the original. What was made under such a name
-- since is none of the copy's. After the switch ($5) none goes back behind what was noted before it: a server that was promoted
-- may stand where it stood earlier. One that goes round is where it is, unless that was found open ($6), as where it was promoted.
WITH stream AS (
    SELECT s.subname, d.note, coalesce(d.note ~ format('^{"move": %s, "sequences": ', coalesce(nullif($3::bigint, 0)::text, '[0-9]+')), false) AS is_noted
      FROM pg_subscription s
      JOIN pg_database b ON b.oid = s.subdbid AND b.datname = current_database()
     CROSS JOIN LATERAL obj_description(s.oid, 'pg_subscription') AS d(note)
     WHERE s.subname = $1
), before AS MATERIALIZED (
    SELECT e.noted, e.noted -> 'of' AS of, e.noted -> 'name' AS name, sign((e.noted ->> 'increment')::numeric) AS way,
           (e.noted ->> 'last')::numeric AS last, (e.noted ->> 'called')::boolean AS called
      FROM stream s
     CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN s.is_noted THEN s.note::jsonb -> 'sequences' END) AS e (noted)
), now AS MATERIALIZED (
    SELECT e.noted, e.at, e.noted -> 'of' AS of, e.noted -> 'name' AS name, sign((e.noted ->> 'increment')::numeric) AS way,
           (e.noted ->> 'last')::numeric AS last, (e.noted ->> 'called')::boolean AS called, (e.noted ->> 'cycle')::boolean AS cycle
      FROM jsonb_array_elements($2::jsonb -> 'sequences') WITH ORDINALITY AS e (noted, at)
), named AS (
    SELECT now.noted, now.at, now.of, now.name AS own_name, now.way, now.last, now.called, now.cycle, before.noted IS NULL AS is_new,
           coalesce(before.name, now.name) AS name,
           bool_or(before.noted IS NOT NULL) OVER (PARTITION BY coalesce(before.name, now.name)) AS is_taken
      FROM now LEFT JOIN before ON before.of = now.of
), noted AS (
    SELECT q.at, q.noted || jsonb_build_object('name', q.name)
                 || CASE WHEN f.last * q.way > q.last * q.way OR f.last = q.last AND f.called
                         THEN jsonb_build_object('last', f.last::bigint, 'called', f.called) ELSE '{}' END AS noted
      FROM named q
      LEFT JOIN LATERAL (
          SELECT b.last, b.called FROM before b
           WHERE $5::boolean AND b.way = q.way AND (NOT q.cycle OR $6::boolean)
             -- A server that was restored has other numbers.
             AND (b.name = q.own_name OR b.of = q.of AND NOT EXISTS (SELECT FROM now o WHERE o.name = b.name))
           ORDER BY b.last * b.way DESC, b.called DESC LIMIT 1
      ) AS f ON true
     WHERE NOT (q.is_new AND q.is_taken)
    UNION ALL
    -- What is there no more, or not yet.
    SELECT NULL, b.noted FROM before b
     WHERE $5::boolean AND NOT EXISTS (SELECT FROM now o WHERE o.of = b.of OR o.name = b.name)
)
SELECT format('COMMENT ON SUBSCRIPTION %I IS %L', s.subname,
              jsonb_set($2::jsonb, '{sequences}', (SELECT coalesce(jsonb_agg(n.noted ORDER BY n.at), '[]') FROM noted n))::text) AS statement
  FROM stream s
 WHERE NOT ($4::boolean AND s.is_noted)
