-- Has no DDL of this database change, while the copy of a stream ($1) is read, which names of its schema ($2) are those of
-- anything but tables: the copy of a table reads by its name, and of what is no plain table it is a query, which runs
-- functions of whoever made that as the role that reads. The planner calls them before it is asked whether that is allowed,
-- and no setting keeps it from an index of a partition or of a materialized view. Nothing, where that stands already as it
-- would be made now; what a sequence or a composite type is named runs nothing. It holds as soon as there is the slot: so in
-- a database that is restored it is nothing. In a schema of its own, which no owner of the database can drop.
WITH body AS (
    SELECT format($body$
DECLARE
    others text[] := ARRAY(SELECT c.oid::text || ' ' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                            WHERE n.nspname = %2$L AND c.relkind NOT IN ('r', 'i', 'I', 'S', 't', 'c') ORDER BY c.oid);
BEGIN
    IF others IS DISTINCT FROM %3$L::text[]
       AND EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %1$L AND database = current_database()) THEN
        RAISE EXCEPTION 'no view and no partitioned or foreign table is made, renamed or dropped in schema %% while it is copied to another node', %2$L
            USING ERRCODE = '55006', HINT = 'Wait until that is done: `shardid moves` says how far it is.';
    END IF;
END
$body$, $1::text, $2::text,
        ARRAY(SELECT c.oid::text || ' ' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = $2 AND c.relkind NOT IN ('r', 'i', 'I', 'S', 't', 'c') ORDER BY c.oid)) AS text
), standing AS (
    SELECT p.prosrc, e.evtenabled
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname = $1 JOIN pg_roles o ON o.oid = n.nspowner AND o.rolsuper
      LEFT JOIN pg_event_trigger e ON e.evtfoid = p.oid AND e.evtname = $1
     WHERE p.proname = 'keep_kinds'
)
SELECT concat_ws('; ',
           CASE WHEN EXISTS (SELECT FROM standing) THEN
               format('DROP EVENT TRIGGER IF EXISTS %1$I; DROP FUNCTION %1$I.keep_kinds(); DROP SCHEMA %1$I', $1::text) END,
           format('CREATE SCHEMA %1$I', $1::text),
           format('CREATE FUNCTION %1$I.keep_kinds() RETURNS event_trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %2$L', $1::text, b.text),
           format('CREATE EVENT TRIGGER %1$I ON ddl_command_end EXECUTE FUNCTION %1$I.keep_kinds()', $1::text),
           format('ALTER EVENT TRIGGER %1$I ENABLE ALWAYS', $1::text),
           format('COMMENT ON EVENT TRIGGER %I IS %L', $1::text, 'shardid: while a schema is copied')) AS statement
  FROM body b
 WHERE NOT EXISTS (SELECT FROM standing s WHERE s.prosrc = b.text AND s.evtenabled = 'A')
