-- Subscribes ($1) to a publication and slot of that name at $2; $3: with a copy
-- of what is there. Each change is on disk before it is acknowledged: the
-- fence waits for that. From 16 on a table's changes are applied by its owner,
-- who may have no rights on the schema.
SELECT format(
           'CREATE SUBSCRIPTION %1$I CONNECTION %2$L PUBLICATION %1$I WITH (slot_name = %1$L, create_slot = false, copy_data = %3$s, synchronous_commit = on%4$s)',
           $1::text, $2::text, CASE WHEN $3::boolean THEN 'true' ELSE 'false' END,
           CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN ', run_as_owner = true' ELSE '' END) AS statement
 WHERE NOT EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
                    WHERE s.subname = $1 AND d.datname = current_database())
