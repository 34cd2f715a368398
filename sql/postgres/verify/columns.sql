-- The columns whose default takes ids, a row each: what they take them from,
-- which shards live in their schema, and who may insert without taking any.
-- Copies that a move has left are not looked at, and partitions are looked at
-- through their parents. The two statements are for looking at the data.
WITH home AS (
    SELECT s.shard, s.layout, s.sequence, c.relnamespace AS schema
      FROM shardid.shard s
      JOIN pg_class c ON c.oid = s.sequence
     WHERE s.state IN ('open', 'fenced')
), generator AS (
    SELECT shard, layout, sequence FROM home
    UNION ALL
    SELECT q.shard, q.layout, q.sequence
      FROM shardid.id_sequence q
      JOIN pg_class c ON c.oid = q.sequence
     WHERE NOT EXISTS (SELECT FROM shardid.shard s WHERE s.shard = q.shard AND s.state = 'moved')
), taken AS (
    -- next_id_from('sequence'), nextval('sequence')
    SELECT d.adrelid, d.adnum, g.shard, g.layout, g.sequence
      FROM pg_attrdef d
      JOIN pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
       AND p.refclassid = 'pg_class'::regclass
      JOIN generator g ON g.sequence = p.refobjid
    UNION
    -- next_id(5), and a shard's own next_id(), whose body says next_id(5, ...)
    SELECT d.adrelid, d.adnum, said.shard, h.layout, h.sequence
      FROM pg_attrdef d
      -- What is temporary is of one session alone.
      JOIN pg_class c ON c.oid = d.adrelid AND c.relpersistence <> 't'
      JOIN pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
       AND p.refclassid = 'pg_proc'::regclass
      JOIN pg_proc f ON f.oid = p.refobjid AND f.proname = 'next_id'
     CROSS JOIN LATERAL (SELECT substring(
               CASE f.pronargs WHEN 0 THEN pg_get_function_sqlbody(f.oid)
                   ELSE pg_get_expr(d.adbin, d.adrelid) END
               FROM '\mnext_id\([('']?(\d{1,10})[,)'']')::bigint) AS written (number)
     -- Anybody may have a function of that name, and give it any number.
     CROSS JOIN LATERAL (SELECT CASE WHEN written.number <= 2147483647 THEN written.number::integer END) AS said (shard)
      LEFT JOIN home h ON h.shard = said.shard
     WHERE said.shard IS NOT NULL
)
SELECT format('%I.%I', n.nspname, c.relname)       AS table,
       format('%I', a.attname)                     AS column,
       quote_ident(pg_get_userbyid(c.relowner))    AS owner,
       format('%I.next_id()', n.nspname)           AS own_default,
       format_type(a.atttypid, NULL)               AS type,
       t.shard,
       t.layout,
       ARRAY(SELECT h.shard FROM home h WHERE h.schema = n.oid ORDER BY h.shard) AS homes,
       (SELECT format('%I.%I', sn.nspname, s.relname) FROM pg_class s
          JOIN pg_namespace sn ON sn.oid = s.relnamespace WHERE s.oid = t.sequence) AS sequence,
       CASE WHEN t.sequence IS NOT NULL THEN ARRAY(
           SELECT DISTINCT CASE x.grantee WHEN 0 THEN 'public' ELSE quote_ident(pg_get_userbyid(x.grantee)) END
             FROM aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) x
            WHERE x.privilege_type = 'INSERT'
              -- What a move brings has its ids.
              AND pg_get_userbyid(x.grantee) !~ '^shardid_(move|back)_[0-9]+$'
              AND NOT has_sequence_privilege(
                      CASE x.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(x.grantee) END,
                      t.sequence::oid, 'USAGE, UPDATE')
            ORDER BY 1) ELSE '{}' END              AS barred,
       -- Of a generator that is gone nobody knows what its ids look like.
       CASE WHEN l.name IS NOT NULL THEN format('SELECT max(%1$I)::bigint FROM %2$I.%3$I WHERE %1$I > $1 AND %1$I::bigint / %4$s %% %5$s = %6$s',
           a.attname, n.nspname, c.relname, l.slots, l.shards, t.shard) END AS beyond,
       CASE WHEN l.name IS NOT NULL THEN format('SELECT count(*) AS ids, min(%1$I)::bigint AS example FROM %2$I.%3$I TABLESAMPLE SYSTEM (%4$s) WHERE %1$I < %5$s OR %1$I::bigint / %6$s %% %7$s <> %8$s OR %1$I::bigint / %6$s / %7$s >= %9$s',
           a.attname, n.nspname, c.relname,
           round(least(100, 100 * 16777216.0 / greatest(size.bytes, 1)), 6),
           l.slots * l.shards, l.slots, l.shards, t.shard, l.ticks) END AS foreign
  FROM taken t
  JOIN pg_class c ON c.oid = t.adrelid AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = t.adrelid AND a.attnum = t.adnum
  LEFT JOIN shardid.layout l ON l.name = t.layout
 CROSS JOIN LATERAL (SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(c.oid)) AS size(bytes)
 WHERE a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
   AND NOT EXISTS (SELECT FROM shardid.shard s WHERE s.shard = t.shard AND s.state = 'moved'
                    AND NOT EXISTS (SELECT FROM home h WHERE h.schema = n.oid))
 ORDER BY 1, 2
