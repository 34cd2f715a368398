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
