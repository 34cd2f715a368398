-- What the tables of a schema look like, each part with its name: a table that is made, dropped
-- or altered during a move is noticed by it. It is the same on every version: NOT NULL,
-- which is a constraint from 18 on, counts with the column.
SELECT format('relation %s', c.relname) AS what, format('%s %s', c.relkind, c.relreplident) AS text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'S', 'v', 'm', 'f')
UNION ALL
SELECT format('column %s of %s', a.attname, c.relname),
       format('%s %s %s', format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
UNION ALL
-- What is inherited pg_dump makes as the parent has it, valid or not. What a partition has of a key or a trigger of its
-- parent is named by the server, in the order in which partitions were made.
SELECT format('constraint %s on %s', k.conname, c.relname), regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '')
  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND k.contype <> 'n'
   AND NOT (k.contype = 'f' AND k.conparentid <> 0 OR k.contype = 't' AND c.relispartition)
UNION ALL
SELECT format('index %s', x.relname), pg_get_indexdef(i.indexrelid)
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 -- What CREATE INDEX CONCURRENTLY has left when it failed, pg_dump leaves out.
 WHERE n.nspname = $1 AND i.indisvalid
