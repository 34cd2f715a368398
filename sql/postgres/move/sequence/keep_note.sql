-- Notes how the sequences of a copy go on that a subscription ($1) fills ($2): it is there until the shard is. Where
-- only what is missing is to be noted ($4), not beside what is noted of that move ($3; 0 where nobody knows its number).
SELECT format('COMMENT ON SUBSCRIPTION %I IS %L', s.subname, $2::text) AS statement
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE s.subname = $1
   AND NOT ($4::boolean AND coalesce(obj_description(s.oid, 'pg_subscription')
                                     ~ format('^{"move": %s, "sequences": ', coalesce(nullif($3::bigint, 0)::text, '[0-9]+')), false))
