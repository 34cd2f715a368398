-- Has what comes to a schema by a subscription applied without a superuser's rights, since that
-- runs code of the schema's owners: checks, expressions of indexes, triggers. From 16 on it is
-- applied with the rights of each table's owner. Up to 15 it is with those of the
-- subscription's owner, which must be a superuser when it becomes that, and no longer: a role
-- of the same name that may write to this schema, in this database, and has no password. Its code may give it one; no
-- client may connect by it, as workers are not counted. Nobody sees it as a superuser, as
-- all of it is one transaction. A copy is read as the server means text, whatever the settings of the database
-- say: by client_encoding it would take what comes, which is in the database's, for another one.
DO $do$
DECLARE
    stream text := current_setting('shardid_follow.stream');
    schema text := current_setting('shardid_follow.schema');
    statement text;
BEGIN
    FOR statement IN
        SELECT format(step, stream, schema, current_database(), pg_encoding_to_char(d.encoding))
          FROM pg_subscription s
          JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
          JOIN pg_roles o ON o.oid = s.subowner,
               unnest(CASE
                   WHEN current_setting('server_version_num')::integer >= 160000 THEN
                       ARRAY['ALTER SUBSCRIPTION %1$I SET (run_as_owner = false)']
                   ELSE ARRAY[
                       'CREATE ROLE %1$I LOGIN CONNECTION LIMIT 0 BYPASSRLS SUPERUSER',
                       'ALTER ROLE %1$I IN DATABASE %3$I SET client_encoding = %4$L',
                       'ALTER ROLE %1$I IN DATABASE %3$I SET array_nulls = on',
                       'ALTER ROLE %1$I IN DATABASE %3$I SET xmloption = content',
                       'ALTER SUBSCRIPTION %1$I OWNER TO %1$I',
                       'ALTER ROLE %1$I NOSUPERUSER',
                       'GRANT USAGE ON SCHEMA %2$I TO %1$I']
               END) WITH ORDINALITY AS steps(step, n)
         WHERE s.subname = stream
           AND CASE WHEN current_setting('server_version_num')::integer >= 160000
                    THEN to_jsonb(s) ->> 'subrunasowner' = 'true' ELSE o.rolsuper END
         ORDER BY n
    LOOP
        EXECUTE statement;
    END LOOP;
    IF NOT FOUND OR current_setting('server_version_num')::integer >= 160000 THEN
        RETURN;
    END IF;
    -- Whether or not everybody may: that may be over before the stream is. Of two that grant something on the same
    -- database at once, one fails: the second waits here.
    PERFORM FROM pg_database WHERE datname = current_database() FOR UPDATE;
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), stream);
    -- Code of all owners runs as that role. No view, which has its owner's rights; and what does more than its caller may
    -- it calls only where all of them may.
    FOR statement IN
        SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON %I.%I TO %I', n.nspname, c.relname, stream)
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = schema AND c.relkind IN ('r', 'p')
    LOOP
        EXECUTE statement;
    END LOOP;
    FOR statement IN
        WITH owner AS (
            SELECT DISTINCT o.refobjid AS role
              FROM pg_namespace n
              JOIN pg_depend d ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid
              JOIN pg_shdepend o ON o.classid = d.classid AND o.objid = d.objid AND o.deptype = 'o'
               AND o.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
             WHERE n.nspname = schema)
        SELECT format('GRANT EXECUTE ON ROUTINE %s TO %I', p.oid::regprocedure, stream)
          FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
         WHERE n.nspname = schema
           AND (NOT p.prosecdef AND l.lanpltrusted
                OR NOT EXISTS (SELECT FROM owner o WHERE NOT has_function_privilege(o.role, p.oid, 'EXECUTE')))
    LOOP
        EXECUTE statement;
    END LOOP;
END
$do$
