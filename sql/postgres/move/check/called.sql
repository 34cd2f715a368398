-- Functions that expressions of a schema ($1) call and that do more than their caller may, where not every role that owns
-- anything of it may call them: one role writes all that comes by a stream, and may call what all may.
WITH owner AS (
    SELECT DISTINCT o.refobjid AS role
      FROM pg_namespace n
      JOIN pg_depend d ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid
      JOIN pg_shdepend o ON o.classid = d.classid AND o.objid = d.objid AND o.deptype = 'o'
       AND o.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
     WHERE n.nspname = $1
)
SELECT DISTINCT ON (p.oid)
       format('function %s does more than who calls it may, and role %I, which owns part of the shard, may not call it', p.oid::regprocedure, pg_get_userbyid(o.role)),
       format('have %s not call it; or, only where role %2$I may do all that it does, GRANT EXECUTE ON FUNCTION %3$s TO %2$I: one role writes what comes by a stream',
              pg_describe_object(d.classid, d.objid, d.objsubid), pg_get_userbyid(o.role), p.oid::regprocedure)
  FROM pg_proc p
  JOIN pg_namespace n ON n.oid = p.pronamespace
  JOIN pg_language l ON l.oid = p.prolang
  JOIN pg_depend d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
   -- PostgreSQL asks for no right where a trigger fires; a function says nothing of what it calls.
   AND d.classid IN ('pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_class'::regclass)
  JOIN owner o ON NOT has_function_privilege(o.role, p.oid, 'EXECUTE')
 WHERE n.nspname = $1 AND (p.prosecdef OR NOT l.lanpltrusted)
 ORDER BY p.oid, pg_get_userbyid(o.role)
