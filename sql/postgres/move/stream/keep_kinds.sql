-- Has no DDL of this database change, while the copy of a stream ($1) is read, which names of its schema ($2) are those of
-- anything but tables: the copy of a table reads by its name, and of what is no plain table it is a query, which runs
-- functions of whoever made that as the role that reads. The planner calls them before it is asked whether that is allowed,
-- and no setting keeps it from an index of a partition or of a materialized view. Nothing, where that stands already as it
-- would be made now; what a sequence or a composite type is named runs nothing. It holds as soon as there is the slot: so in
-- a database that is restored it is nothing. A command may not see what others have done, in its snapshot or before they
-- commit: it sees what it has done itself, and that the schema is still the one of that name. In a schema of its own, which
-- no owner of the database can drop, and of a name that nobody can take before.
, body AS (
    SELECT format($body$
DECLARE
    others text[] := ARRAY(SELECT c.oid::text || ' ' || c.relname FROM pg_class c
                            WHERE c.relnamespace = %4$L::oid AND c.relkind NOT IN ('r', 'i', 'I', 'S', 't', 'c') ORDER BY c.oid);
BEGIN
    IF others IS NOT DISTINCT FROM %3$L::text[]
       AND %4$L::oid IS NOT DISTINCT FROM (SELECT n.oid FROM pg_namespace n WHERE n.nspname = %2$L) THEN
        RETURN;
    END IF;
    -- By itself: not everybody may look there on every server.
    IF EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %1$L AND database = current_database()) THEN
        RAISE EXCEPTION 'schema %% is copied to another node: meanwhile it is not renamed, and no view and no partitioned or foreign table is made, renamed or dropped in it', %2$L
            USING ERRCODE = '55006', HINT = 'Wait until that is done: `shardid moves` says how far it is.';
    END IF;
END
$body$, $1::text, $2::text,
        ARRAY(SELECT c.oid::text || ' ' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = $2 AND c.relkind NOT IN ('r', 'i', 'I', 'S', 't', 'c') ORDER BY c.oid),
        (SELECT oid FROM pg_namespace WHERE nspname = $2)) AS text
), standing AS (
    SELECT n.nspname, p.prosrc, e.evtenabled
      FROM pg_proc p
      JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname ~ ('^' || $1 || '(_[0-9a-f]{32})?$')
      JOIN pg_roles o ON o.oid = n.nspowner AND o.rolsuper
      LEFT JOIN pg_event_trigger e ON e.evtfoid = p.oid AND e.evtname = $1
     WHERE p.proname = 'keep_kinds'
), fresh AS (SELECT format('%s_%s', $1::text, replace(gen_random_uuid()::text, '-', '')) AS schema)
SELECT concat_ws('; ',
           (SELECT format('DROP EVENT TRIGGER IF EXISTS %I', $1::text) FROM standing s LIMIT 1),
           format('CREATE SCHEMA %I', f.schema),
           (SELECT format(p.text, f.schema) FROM private p),
           format('CREATE FUNCTION %I.keep_kinds() RETURNS event_trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %L', f.schema, b.text),
           format('CREATE EVENT TRIGGER %I ON ddl_command_end EXECUTE FUNCTION %I.keep_kinds()', $1::text, f.schema),
           format('ALTER EVENT TRIGGER %1$I ENABLE ALWAYS', $1::text),
           format('COMMENT ON EVENT TRIGGER %I IS %L', $1::text, 'shardid: while a schema is copied')) AS statement,
       ARRAY(SELECT s.nspname::text FROM standing s) AS unused
  FROM body b CROSS JOIN fresh f
 WHERE NOT EXISTS (SELECT FROM standing s WHERE s.prosrc = b.text AND s.evtenabled = 'A')
