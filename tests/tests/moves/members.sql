BEGIN;
-- A member of each role of the server, and one of none.
CREATE ROLE of_none;
SELECT format('CREATE ROLE %I; GRANT %I TO %I', 'of_' || rolname, rolname, 'of_' || rolname)
  FROM pg_roles WHERE rolname LIKE 'pg\_%' AND rolname <> 'pg_database_owner' \gexec
PREPARE granted (text) AS
GRANTED;
PREPARE had (text[], text[], text[], boolean, boolean) AS
HAD;
CREATE TEMP TABLE granted (what, privilege, role) AS EXECUTE granted('SCHEMA');
SELECT array_agg(what) AS what, array_agg(privilege) AS privilege, array_agg(role) AS role FROM granted \gset
CREATE TEMP TABLE had AS EXECUTE had(:'what', :'privilege', :'role', false, false);
CREATE TEMP TABLE thing AS
SELECT what, split_part(what, ' ', 1) AS kind, substr(what, strpos(what, ' ') + 1) AS name FROM (SELECT DISTINCT what FROM granted) AS d;
-- Every privilege that there is for a kind, as the server has it for an owner.
CREATE TEMP TABLE every AS
SELECT t.what, t.kind, t.name, a.privilege_type AS privilege
  FROM thing t
 CROSS JOIN LATERAL aclexplode(acldefault(CASE t.kind WHEN 'table' THEN 'r' WHEN 'sequence' THEN 's' WHEN 'schema' THEN 'n' WHEN 'function' THEN 'f' WHEN 'type' THEN 'T' END::"char", 10)) AS a
 WHERE t.kind <> 'column' AND a.grantee = 10;
-- What the server says that a role has.
CREATE FUNCTION pg_temp.has(role name, kind text, name text, privilege text) RETURNS boolean LANGUAGE sql AS $$
SELECT CASE kind WHEN 'table' THEN has_table_privilege(role, name, privilege)
                 WHEN 'sequence' THEN has_sequence_privilege(role, name, privilege)
                 WHEN 'schema' THEN has_schema_privilege(role, name, privilege)
                 WHEN 'function' THEN has_function_privilege(role, name, privilege)
                 WHEN 'type' THEN has_type_privilege(role, name, privilege) END
$$;
CREATE TEMP TABLE real AS
SELECT r.rolname::text AS role, e.what, e.privilege FROM every e JOIN pg_roles r ON r.rolname LIKE 'of\_pg\_%'
 WHERE pg_temp.has(r.rolname, e.kind, e.name, e.privilege) AND NOT pg_temp.has('of_none', e.kind, e.name, e.privilege);
SELECT 'by the server alone: ' || real::text FROM real
 WHERE NOT EXISTS (SELECT FROM had h WHERE h.has AND (h.role, h.what, h.privilege) = (real.role, real.what, real.privilege));
SELECT 'by the list alone: ' || h::text FROM had h
 WHERE h.role LIKE 'of\_pg\_%' AND h.privilege <> 'OWNERSHIP' AND h.what NOT LIKE 'column %'
   AND NOT EXISTS (SELECT FROM real r WHERE (h.role, h.what, h.privilege) = (r.role, r.what, r.privilege));
-- Not of nothing, and a grant on a column, too.
SELECT 'looked at' WHERE (SELECT count(*) FROM real) > 5
   AND (SELECT count(DISTINCT kind) FROM thing) = 6
   AND EXISTS (SELECT FROM had WHERE role = 'of_pg_monitor' AND what LIKE 'column %' AND privilege = 'SELECT');
ROLLBACK;
