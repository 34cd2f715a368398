-- Which layouts ($1 names, $2 rules, $3 how to make them) a server has not.
SELECT CASE WHEN l.name IS NULL THEN format('layout %s is missing', n.name)
            ELSE format('layout %s is another one', n.name) END AS problem,
       CASE WHEN l.name IS NULL THEN n.hint
            ELSE 'a layout in use cannot be changed: move to another node' END AS hint
  FROM unnest($1::text[], $2::text[], $3::text[]) AS n(name, rule, hint)
  LEFT JOIN shardid.layout l ON l.name = n.name
 WHERE concat_ws(', ', extract(epoch FROM l.epoch), extract(epoch FROM l.tick), l.ticks, l.shards, l.slots) <> n.rule OR l.name IS NULL
