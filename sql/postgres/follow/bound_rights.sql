-- Has what comes to a schema by a subscription applied without a superuser's rights, since that
-- runs code of the schema's owners: checks, expressions of indexes, triggers. From 16 on it is
-- applied with the rights of each table's owner. Up to 15 it is with those of the
-- subscription's owner, which must be a superuser when it becomes that, and no longer: a role
-- of the same name that may write to this schema and has no password. Its code may give it one; no
-- client may connect by it, as workers are not counted. Nobody sees it as a superuser, as
-- all of it is one transaction.
DO $do$
DECLARE
    stream text := current_setting('shardid_follow.stream');
    schema text := current_setting('shardid_follow.schema');
    statement text;
BEGIN
    FOR statement IN
        SELECT format(step, stream, schema, current_database())
          FROM pg_subscription s
          JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
          JOIN pg_roles o ON o.oid = s.subowner,
               unnest(CASE
                   WHEN current_setting('server_version_num')::integer >= 160000 THEN
                       ARRAY['ALTER SUBSCRIPTION %1$I SET (run_as_owner = false)']
                   ELSE ARRAY[
                       'CREATE ROLE %1$I LOGIN CONNECTION LIMIT 0 BYPASSRLS SUPERUSER',
                       'ALTER SUBSCRIPTION %1$I OWNER TO %1$I',
                       'ALTER ROLE %1$I NOSUPERUSER',
                       'GRANT USAGE ON SCHEMA %2$I TO %1$I',
                       'GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA %2$I TO %1$I',
                       'GRANT EXECUTE ON ALL ROUTINES IN SCHEMA %2$I TO %1$I']
               END) WITH ORDINALITY AS steps(step, n)
         WHERE s.subname = stream
           AND CASE WHEN current_setting('server_version_num')::integer >= 160000
                    THEN to_jsonb(s) ->> 'subrunasowner' = 'true' ELSE o.rolsuper END
         ORDER BY n
    LOOP
        EXECUTE statement;
    END LOOP;
END
$do$
