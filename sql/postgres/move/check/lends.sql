-- Tables of a schema ($1) that a superuser owns, and whose rows meet what others may write: from 16 on what comes by a stream is
-- written with the rights of the table's owner, here or on the other node ($2), and what others write would have them. Others
-- write functions, domains and composite types, whose parts may change; and who owns the table that another is a part of, or inherits from, gives that its
-- indexes and checks. What a default, a rule, a policy or an ordinary trigger calls is not called for such rows, and a key
-- to another table calls nothing.
WITH RECURSIVE kept AS (
    SELECT c.oid AS root, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner AND o.rolsuper
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND ($2::boolean OR current_setting('server_version_num')::integer >= 160000)
    UNION
    SELECT k.root, i.inhparent FROM kept k JOIN pg_inherits i ON i.inhrelid = k.oid
), met (root, classid, objid) AS (
    SELECT root, 'pg_class'::regclass::oid, oid FROM kept
    UNION
    SELECT m.root, next.classid, next.objid
      FROM met m
     CROSS JOIN LATERAL (
           -- What is a part of it: checks, expressions, indexes; and the checks of a domain.
           SELECT d.classid, d.objid FROM pg_depend d
            WHERE d.refclassid = m.classid AND d.refobjid = m.objid AND d.deptype IN ('a', 'i', 'P', 'S')
              AND d.classid IN ('pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_class'::regclass)
           UNION ALL
           -- What it needs.
           SELECT d.refclassid, d.refobjid FROM pg_depend d
            WHERE d.classid = m.classid AND d.objid = m.objid
              AND d.refclassid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_class'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass, 'pg_opfamily'::regclass)
       ) AS next
      LEFT JOIN pg_constraint k ON next.classid = 'pg_constraint'::regclass AND k.oid = next.objid
      LEFT JOIN pg_attrdef a ON next.classid = 'pg_attrdef'::regclass AND a.oid = next.objid
      LEFT JOIN pg_attribute g ON g.attrelid = a.adrelid AND g.attnum = a.adnum
      LEFT JOIN pg_class c ON next.classid = 'pg_class'::regclass AND c.oid = next.objid
     WHERE (k.oid IS NULL OR k.contype <> 'f')
       AND (a.oid IS NULL OR g.attgenerated <> '')
       AND (c.oid IS NULL OR c.relkind IN ('i', 'I', 'c'))
)
SELECT DISTINCT ON (m.root, w.oid)
       format('table %s is superuser %I''s, and its rows meet %s, which is role %I''s: what comes by a stream from PostgreSQL 16 on is written with the rights of the table''s owner, and what that role writes would have them',
              m.root::regclass, pg_get_userbyid(t.relowner), pg_describe_object(m.classid, m.objid, 0), w.rolname) AS problem,
       format('ALTER TABLE %s OWNER TO %I; or have a superuser own what it meets', m.root::regclass, w.rolname) AS hint
  FROM met m
  JOIN pg_class t ON t.oid = m.root
  LEFT JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
  LEFT JOIN pg_type y ON m.classid = 'pg_type'::regclass AND y.oid = m.objid AND y.typtype IN ('d', 'c')
  LEFT JOIN pg_operator o ON m.classid = 'pg_operator'::regclass AND o.oid = m.objid
  LEFT JOIN pg_opclass q ON m.classid = 'pg_opclass'::regclass AND q.oid = m.objid
  LEFT JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
  JOIN pg_roles w ON w.oid = coalesce(p.proowner, y.typowner, o.oprowner, q.opcowner, c.relowner) AND NOT w.rolsuper
 ORDER BY m.root, w.oid, m.classid, m.objid
