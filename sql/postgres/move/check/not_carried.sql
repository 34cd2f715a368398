-- All that a move of a schema ($1) does not carry, and that works without: of which kind it is, what stays
-- behind, and whether it is of the whole database. docs/limits.md names the same kinds.
SELECT 'publications' AS kind,
       replace(pg_describe_object(o.classid, o.objid, 0), '  ', ' ') || ' stays behind' AS what, false AS is_of_database
  FROM outside o
  LEFT JOIN pg_publication_rel r ON o.classid = 'pg_publication_rel'::regclass AND r.oid = o.objid
  LEFT JOIN pg_publication_namespace n ON o.classid = 'pg_publication_namespace'::regclass AND n.oid = o.objid
  JOIN pg_publication p ON p.oid IN (r.prpubid, n.pnpubid)
 WHERE p.pubname !~ '^shardid_(move|back)_[0-9]+$'
UNION
SELECT 'security labels' AS kind,
       format('the security label of %s by %s stays behind', pg_describe_object(l.classoid, l.objoid, l.objsubid), l.provider), false
  FROM pg_seclabel l JOIN inside i ON i.classid = l.classoid AND i.objid = l.objoid
UNION
SELECT 'comments' AS kind,
       format('the comment on %s stays behind', pg_describe_object(d.classoid, d.objoid, d.objsubid)), false
  FROM pg_description d JOIN inside i ON i.classid = d.classoid AND i.objid = d.objoid
 -- What a server makes by itself with something else, pg_dump does not write, nor what is said of it.
 WHERE EXISTS (SELECT FROM pg_trigger t WHERE d.classoid = 'pg_trigger'::regclass AND t.oid = d.objoid AND (t.tgisinternal OR t.tgparentid <> 0))
    OR EXISTS (SELECT FROM pg_constraint k WHERE d.classoid = 'pg_constraint'::regclass AND k.oid = d.objoid AND (NOT k.conislocal OR k.conparentid <> 0))
    OR d.classoid = 'pg_class'::regclass AND d.objsubid < 0
    OR EXISTS (SELECT FROM pg_depend p WHERE d.classoid = 'pg_proc'::regclass AND p.classid = d.classoid AND p.objid = d.objoid
                  AND p.deptype = 'i' AND p.refclassid = 'pg_type'::regclass)
    OR EXISTS (SELECT FROM pg_rewrite r WHERE d.classoid = 'pg_rewrite'::regclass AND r.oid = d.objoid AND r.rulename = '_RETURN')
    OR EXISTS (SELECT FROM pg_type t WHERE d.classoid = 'pg_type'::regclass AND t.oid = d.objoid
                  AND (t.typtype = 'm' OR EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)
                       OR EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c')))
UNION
SELECT 'indexes that are not valid' AS kind,
       format('index %s is not valid, and stays behind', x.indexrelid::regclass), false
  FROM pg_index x JOIN inside i ON i.classid = 'pg_class'::regclass AND i.objid = x.indexrelid
  JOIN pg_class c ON c.oid = x.indexrelid AND c.relkind = 'i'
 WHERE NOT x.indisvalid
UNION
SELECT 'names of foreign keys' AS kind,
       format('foreign key %s of partition %s has the name that it had before it was attached, which stays behind', k.conname, k.conrelid::regclass), false
  FROM pg_constraint k JOIN inside i ON i.classid = 'pg_constraint'::regclass AND i.objid = k.oid
  JOIN pg_constraint p ON p.oid = k.conparentid AND p.contype = 'f'
 WHERE k.contype = 'f' AND k.conname <> p.conname AND k.conrelid <> p.conrelid
UNION
SELECT 'event triggers' AS kind,
       pg_describe_object('pg_event_trigger'::regclass, e.oid, 0) || ' stays behind', true
  FROM pg_event_trigger e
 -- What a move makes while it copies goes with it. One that needs the schema is in the way, and those of extensions come with them.
 WHERE e.evtname !~ '^shardid_(move|back)_[0-9]+(_name)?$'
   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid AND d.deptype = 'e')
   AND NOT EXISTS (SELECT FROM outside o WHERE o.classid = 'pg_event_trigger'::regclass AND o.objid = e.oid)
UNION
SELECT 'large objects' AS kind,
       format('large objects (%s) stay behind', count(*)), true
  FROM pg_largeobject_metadata
HAVING count(*) > 0
UNION
SELECT 'settings' AS kind,
       format('settings of %s (%s) stay behind', concat_ws(' in ', 'role ' || quote_ident(r.rolname), 'database ' || quote_ident(d.datname)),
              array_to_string(s.setconfig, ', ')), true
  FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase AND d.datname = current_database()
  LEFT JOIN pg_roles r ON r.oid = s.setrole
 -- What the roles have that follow is the program's own.
 WHERE coalesce(r.rolname !~ '^(shardid_(move|back)_[0-9]+$|shardid/)', true)
 ORDER BY is_of_database, kind, what
