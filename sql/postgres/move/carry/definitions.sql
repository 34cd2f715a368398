-- A hash of everything that is defined in a schema, to compare with what it was
-- a while ago: whatever is made, dropped, altered, granted or remarked upon
-- during a move is noticed by it.
WITH here AS (
    SELECT oid FROM pg_namespace WHERE nspname = $1
), member AS (
    SELECT 'pg_class'::regclass::oid AS classid, c.oid AS objid, c.xmin::text AS version FROM pg_class c WHERE c.relnamespace = (TABLE here) AND c.relkind IN ('r', 'p', 'S', 'v', 'm', 'f', 'c')
    UNION ALL SELECT 'pg_proc'::regclass, p.oid, p.xmin::text FROM pg_proc p WHERE p.pronamespace = (TABLE here)
    UNION ALL SELECT 'pg_type'::regclass, t.oid, t.xmin::text FROM pg_type t WHERE t.typnamespace = (TABLE here)
    UNION ALL SELECT 'pg_operator'::regclass, o.oid, o.xmin::text FROM pg_operator o WHERE o.oprnamespace = (TABLE here)
    UNION ALL SELECT 'pg_namespace'::regclass, n.oid, n.xmin::text FROM pg_namespace n WHERE n.oid = (TABLE here)
)
SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C")) AS definitions
  FROM (
    -- Not by its version: that changes with every ANALYZE and every trigger.
    SELECT format('class %s %s %s %s %s %s %s', c.oid, c.relname, c.relkind, c.relowner, c.relacl, c.reloptions, c.relrowsecurity) AS line
      FROM pg_class c JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid
    UNION ALL
    SELECT format('sequence %s', q) FROM pg_sequence q JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = q.seqrelid
    UNION ALL
    SELECT format('view %s %s', m.objid, r.ev_action) FROM pg_rewrite r JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = r.ev_class
    UNION ALL
    SELECT format('column %s %s %s', a.attrelid, a.attname, a.attacl)
      FROM pg_attribute a JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = a.attrelid
     WHERE a.attacl IS NOT NULL
    UNION ALL
    SELECT format('%s %s %s', m.classid, m.objid, m.version) FROM member m WHERE m.classid <> 'pg_class'::regclass
    UNION ALL
    SELECT format('label %s %s %s', e.enumtypid, e.enumsortorder, e.enumlabel)
      FROM pg_enum e JOIN member m ON m.classid = 'pg_type'::regclass AND m.objid = e.enumtypid
    UNION ALL
    SELECT format('constraint %s', pg_get_constraintdef(k.oid)) FROM pg_constraint k WHERE k.connamespace = (TABLE here)
    UNION ALL
    SELECT format('trigger %s %s', pg_get_triggerdef(t.oid), t.tgenabled)
      FROM pg_trigger t JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = t.tgrelid
     WHERE NOT t.tgisinternal AND t.tgname <> 'shardid_fence'
    UNION ALL
    SELECT format('policy %s', p) FROM pg_policy p JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = p.polrelid
    UNION ALL
    SELECT format('statistics %s', pg_get_statisticsobjdef(x.oid)) FROM pg_statistic_ext x WHERE x.stxnamespace = (TABLE here)
    UNION ALL
    SELECT format('remark %s %s %s', d.objoid, d.objsubid, d.description)
      FROM pg_description d JOIN member m ON m.classid = d.classoid AND m.objid = d.objoid
    UNION ALL
    SELECT format('defaults %s', d) FROM pg_default_acl d WHERE d.defaclnamespace = (TABLE here)
  ) AS lines
