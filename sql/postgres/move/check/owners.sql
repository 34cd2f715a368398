-- The roles that own anything of a schema ($1), but for the first superuser; and whether the name of one can be read in a
-- list of contents, which has it in one line.
SELECT DISTINCT r.rolname::text AS role, r.rolname !~ '[[:cntrl:]]|; ' AS is_plain
  FROM inside i
  JOIN pg_shdepend s ON s.classid = i.classid AND s.objid = i.objid AND s.deptype = 'o'
   AND s.refclassid = 'pg_authid'::regclass AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  JOIN pg_roles r ON r.oid = s.refobjid
 ORDER BY 1
