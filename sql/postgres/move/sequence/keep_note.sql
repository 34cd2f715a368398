-- Notes how the sequences of a copy go on that a subscription ($1) fills ($2): it is there until the shard is. Where
-- only what is missing is to be noted ($4), not beside what is noted of that move ($3; 0 where nobody knows its number).
-- One that is noted already keeps its name: the copy's is not renamed with the original. What was made under such a name
-- since is none of the copy's. After the switch ($5) none goes back behind what was noted before it: a server that was promoted
-- may stand where it stood earlier. What was found open ($6), as where it was promoted, tells no more than that: it may lack what was
-- changed before the switch, or have got what the copy has not; and where nothing was noted before, of generators alone, which go on
-- above all that can have been given: the others stay at their end. One is known by its number, or in another database ($7), as where
-- that was restored, by its name. Noted with it is the number of the copy's own, on which server and in which database: names may be
-- given to others until it is opened. ($8: the schema.)
WITH stream AS (
    SELECT s.subname, d.note, coalesce(d.note ~ format('^{"move": %s, "sequences": ', coalesce(nullif($3::bigint, 0)::text, '[0-9]+')), false) AS is_noted
      FROM pg_subscription s
      JOIN pg_database b ON b.oid = s.subdbid AND b.datname = current_database()
     CROSS JOIN LATERAL obj_description(s.oid, 'pg_subscription') AS d(note)
     WHERE s.subname = $1
), entry AS MATERIALIZED (
    SELECT e.is_now, e.at, e.noted, e.noted -> 'name' AS name, e.noted -> 'copy' AS copy, e.noted -> CASE WHEN $7::boolean THEN 'name' ELSE 'of' END AS key,
           sign((e.noted ->> 'increment')::numeric) AS way, (e.noted ->> 'last')::numeric AS last, (e.noted ->> 'called')::boolean AS called,
           (e.noted ->> 'cycle')::boolean AS cycle, (e.noted ->> 'min')::numeric AS min, (e.noted ->> 'max')::numeric AS max
      FROM (SELECT true AS is_now, n.at, n.noted FROM jsonb_array_elements($2::jsonb -> 'sequences') WITH ORDINALITY AS n (noted, at)
            UNION ALL
            SELECT false, b.at, b.noted FROM stream s
             CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN s.is_noted THEN s.note::jsonb -> 'sequences' END) WITH ORDINALITY AS b (noted, at)) AS e
), named AS (
    SELECT now.at, CASE WHEN $6::boolean AND before.name IS NOT NULL THEN before.noted ELSE now.noted END AS noted, coalesce(before.name, now.name) AS name, before.copy, before.name IS NULL AS is_new,
           bool_or(before.name IS NOT NULL) OVER (PARTITION BY coalesce(before.name, now.name)) AS is_taken,
           CASE WHEN NOT $5::boolean OR before.name IS NULL OR before.way <> now.way THEN '{}'
                WHEN NOT $6::boolean THEN
                    CASE WHEN NOT now.cycle AND (before.last * now.way > now.last * now.way OR before.last = now.last AND before.called)
                         THEN jsonb_build_object('last', before.last::bigint, 'called', before.called) ELSE '{}' END
                WHEN NOT before.cycle AND now.last BETWEEN before.min AND before.max
                     AND (now.last * now.way > before.last * now.way OR now.last = before.last AND now.called)
                THEN jsonb_build_object('last', now.last::bigint, 'called', now.called) ELSE '{}' END AS further
      FROM entry now LEFT JOIN entry before ON before.key = now.key AND NOT before.is_now
     WHERE now.is_now
), noted AS (
    SELECT q.at, q.noted || jsonb_build_object('name', q.name, 'copy', coalesce(q.copy, own.copy)) || q.further AS noted FROM named q
      LEFT JOIN LATERAL (
          SELECT to_jsonb(format('%s/%s/%s', (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database()), c.oid)) AS copy
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname = $8 AND c.relname = q.name #>> '{}' AND c.relkind = 'S') own ON true
     WHERE NOT (q.is_new AND (q.is_taken OR $6::boolean AND (q.noted ->> 'layout' IS NULL OR EXISTS (SELECT FROM entry b WHERE NOT b.is_now))))
    UNION ALL
    -- What is there no more, or not yet.
    SELECT NULL, b.noted FROM entry b
     WHERE $5::boolean AND NOT b.is_now AND NOT EXISTS (SELECT FROM entry o WHERE o.is_now AND o.key = b.key)
)
SELECT format('COMMENT ON SUBSCRIPTION %I IS %L', s.subname,
              jsonb_set($2::jsonb, '{sequences}', (SELECT coalesce(jsonb_agg(n.noted ORDER BY n.at), '[]') FROM noted n))::text) AS statement
  FROM stream s
 WHERE NOT ($4::boolean AND s.is_noted)
