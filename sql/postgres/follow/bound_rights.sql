-- Has what comes to a schema by a subscription applied with next to no rights, since that
-- runs code of whoever wrote the checks, domains and expressions of indexes that rows meet: not with those of a
-- superuser, nor of the tables' owners, who are not always those who wrote it. It is applied with those of the
-- subscription's owner, a role
-- of the same name that may write to this schema, in this database, and has no password. Its code may give it one; no
-- client may connect by it, as workers are not counted. Up to 15 an owner must be a superuser when it becomes that, and no
-- longer; nobody sees it as one, as all of it is one transaction. Row level security stops a worker that has no right to pass
-- it; where no table has any, the role has none. A copy is read as the server means text, whatever the settings of the database
-- say: by client_encoding it would take what comes, which is in the database's, for another one. Rows that come are written where
-- transactions are read only; statements of what they meet are refused.
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
               unnest(CASE WHEN o.rolsuper THEN ARRAY[
                   'CREATE ROLE %1$I LOGIN CONNECTION LIMIT 0 SUPERUSER',
                   CASE WHEN EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                                      WHERE n.nspname = schema AND c.relrowsecurity)
                        THEN 'ALTER ROLE %1$I BYPASSRLS' END,
                   'ALTER ROLE %1$I IN DATABASE %3$I SET client_encoding = %4$L',
                   'ALTER ROLE %1$I IN DATABASE %3$I SET array_nulls = on',
                   'ALTER ROLE %1$I IN DATABASE %3$I SET xmloption = content',
                   'ALTER ROLE %1$I IN DATABASE %3$I SET default_transaction_read_only = on',
                   -- It logs in at the other node by a password that this server need not have asked for.
                   CASE WHEN current_setting('server_version_num')::integer >= 160000
                        THEN 'ALTER SUBSCRIPTION %1$I SET (run_as_owner = true, password_required = false)' END,
                   'ALTER SUBSCRIPTION %1$I OWNER TO %1$I',
                   'ALTER ROLE %1$I NOSUPERUSER',
                   'GRANT USAGE ON SCHEMA %2$I TO %1$I']
               ELSE ARRAY['ALTER SUBSCRIPTION %1$I SET (run_as_owner = true, password_required = false)'] END)
                   WITH ORDINALITY AS steps(step, n)
         WHERE s.subname = stream AND step IS NOT NULL
           AND (o.rolsuper OR to_jsonb(s) ->> 'subrunasowner' = 'false')
         ORDER BY n
    LOOP
        EXECUTE statement;
    END LOOP;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- Copying a table takes as long as it does, whatever limit of time is set for the database.
    FOR statement IN
        SELECT format('ALTER ROLE %I IN DATABASE %I SET %I = 0', stream, current_database(), name)
          FROM pg_settings
         WHERE context = 'user' AND unit = 'ms' AND vartype = 'integer' AND category LIKE 'Client Connection Defaults%'
    LOOP
        EXECUTE statement;
    END LOOP;
    -- Whether or not everybody may connect: that may be over before the stream is. Guards call what lies in schema shardid. Of two
    -- that change rights on the same database or schema at once, one fails, and is made again.
    FOR attempt IN REVERSE 100..0 LOOP
        BEGIN
            EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), stream);
            IF NOT has_schema_privilege('public', 'shardid', 'USAGE') THEN
                EXECUTE format('GRANT USAGE ON SCHEMA shardid TO %I', stream);
            END IF;
            EXIT;
        EXCEPTION
            WHEN internal_error THEN
                IF attempt = 0 THEN
                    RAISE;
                END IF;
        END;
    END LOOP;
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
