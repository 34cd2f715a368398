-- What two servers must have in common.
SELECT current_setting('server_version_num')::integer / 10000 AS major,
       format('%s/%s', (SELECT system_identifier FROM pg_control_system()),
              (SELECT oid FROM pg_database WHERE datname = current_database())) AS identity,
       (SELECT extversion FROM pg_extension WHERE extname = 'shardid') AS shardid,
       (SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
         WHERE e.extname = 'shardid') AS extension_schema,
       pg_encoding_to_char((SELECT encoding FROM pg_database WHERE datname = current_database()))::text AS encoding,
       (SELECT datcollate::text FROM pg_database WHERE datname = current_database()) AS collation
