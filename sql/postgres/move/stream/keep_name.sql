-- Has the name of a schema ($2) stay that very schema's for as long as a stream's ($1) move stands: what the move says of its
-- tables it says by name, as a superuser, and whoever owns the schema could put another one in its place, with tables of
-- others. Nothing, where that is kept already, of whatever schema. A command may have a snapshot in which there is no such
-- schema yet, and sees what it has done itself. Where the schema is dropped, nobody takes its name either. In another
-- database, as one that a dump was restored to, it is nothing. A superuser, whose rights are not to be gained, may do it all the same.
-- Who has renamed the schema and not committed is waited for. In a schema of its own, which no owner of the database can drop,
-- and of a name that nobody can take before. What stood in its place goes when nobody runs it any more.
, body AS (
    SELECT format($body$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace n WHERE (n.nspname = %2$L) <> (n.oid = %3$L::oid)) THEN
        RETURN;
    END IF;
    -- By itself: not everybody may look there on every server.
    IF EXISTS (SELECT FROM pg_database d, pg_control_system() s
                WHERE d.datname = current_database() AND d.oid = %4$L::oid AND s.system_identifier = %5$L::bigint)
       AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN
        RAISE EXCEPTION 'the shard of schema %% is moved between nodes: meanwhile the schema keeps its name, and no other gets that', %2$L
            USING ERRCODE = '55006',
                  HINT = 'Wait until that is done: `shardid moves` says how far it is. Where no such move stands, as after a restore, a superuser says: ALTER EVENT TRIGGER %1$s_name DISABLE';
    END IF;
END
$body$, $1::text, $2::text, n.oid, d.oid, s.system_identifier) AS text, n.oid
      FROM pg_namespace n, pg_database d, pg_control_system() s
     WHERE n.nspname = $2 AND d.datname = current_database()
), standing AS (
    SELECT n.nspname, e.evtenabled
      FROM pg_proc p
      JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname ~ ('^' || $1 || '_[0-9a-f]{32}$')
      JOIN pg_roles o ON o.oid = n.nspowner AND o.rolsuper
      LEFT JOIN pg_event_trigger e ON e.evtfoid = p.oid AND e.evtname = $1 || '_name'
     WHERE p.proname = 'keep_name'
), fresh AS (SELECT format('%s_%s', $1::text, replace(gen_random_uuid()::text, '-', '')) AS schema)
SELECT concat_ws('; ',
           'SET LOCAL lock_timeout = ''60s''', format('SELECT FROM pg_namespace WHERE oid = %s FOR SHARE', b.oid),
           (SELECT format('DROP EVENT TRIGGER IF EXISTS %I', $1 || '_name') FROM standing s LIMIT 1),
           format('CREATE SCHEMA %I', f.schema),
           (SELECT format(p.text, f.schema) FROM private p),
           format('CREATE FUNCTION %I.keep_name() RETURNS event_trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %L', f.schema, b.text),
           format('CREATE EVENT TRIGGER %I ON ddl_command_end EXECUTE FUNCTION %I.keep_name()', $1 || '_name', f.schema),
           format('ALTER EVENT TRIGGER %I ENABLE ALWAYS', $1 || '_name'),
           format('COMMENT ON EVENT TRIGGER %I IS %L', $1 || '_name', 'shardid: while a shard is moved')) AS statement,
       ARRAY(SELECT s.nspname::text FROM standing s) AS unused
  FROM body b CROSS JOIN fresh f
 WHERE NOT EXISTS (SELECT FROM standing s WHERE s.evtenabled = 'A')
