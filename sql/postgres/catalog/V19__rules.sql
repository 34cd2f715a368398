-- By what sequences of a source are bound is data, and no statement: a statement in a table is run with the rights of
-- whoever comes upon it.

UPDATE shardid.move
   SET rules = (SELECT coalesce(jsonb_agg(jsonb_build_object(
                           'name', (parse_ident(r.part[1]))[2], 'type', r.part[2], 'increment', r.part[3]::bigint, 'min', r.part[4]::bigint,
                           'max', r.part[5]::bigint, 'start', r.part[6]::bigint, 'cache', r.part[7]::bigint, 'cycle', r.part[8] = 'CYCLE')), '[]')
                  FROM regexp_matches(rules, 'ALTER SEQUENCE (.+?) AS (smallint|integer|bigint) INCREMENT BY (-?[0-9]+) MINVALUE (-?[0-9]+) MAXVALUE (-?[0-9]+) START WITH (-?[0-9]+) CACHE ([0-9]+) (NO CYCLE|CYCLE)', 'g') AS r(part))::text
 WHERE rules IS NOT NULL;

COMMENT ON COLUMN shardid.move.rules IS 'by what the source''s sequences were bound then: an array of objects, as JSON';
