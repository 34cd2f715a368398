-- Primary keys of one column, in the schema of a shard that lives here, whose
-- default or identity is a sequence that is no generator of ids.
WITH home AS (
    SELECT c.relnamespace AS schema, min(s.shard) AS shard
      FROM shardid.shard s
      JOIN pg_class c ON c.oid = s.sequence
     WHERE s.state IN ('open', 'fenced')
     GROUP BY 1
)
SELECT format('%I.%I', n.nspname, c.relname) AS table,
       format('%I', a.attname)               AS column,
       format('%I.next_id()', n.nspname)     AS own_default,
       h.shard,
       a.attidentity <> ''                   AS identity,
       a.atttypid <> 'int8'::regtype         AS small,
       quote_ident(pg_get_userbyid(c.relowner)) AS owner
  FROM home h
  JOIN pg_namespace n ON n.oid = h.schema
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) ~ '\mnextval\(')
   AND NOT EXISTS (
       SELECT FROM pg_depend p
         JOIN (SELECT sequence FROM shardid.shard UNION SELECT sequence FROM shardid.id_sequence) AS known
           ON known.sequence = CASE WHEN p.objid = d.oid THEN p.refobjid ELSE p.objid END
        WHERE (p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_class'::regclass)
           OR (p.classid = 'pg_class'::regclass AND p.refclassid = 'pg_class'::regclass
               AND p.refobjid = c.oid AND p.refobjsubid = a.attnum AND p.deptype = 'i'))
 ORDER BY 1
