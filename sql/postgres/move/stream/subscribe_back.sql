-- Subscribes ($1) to a publication and slot of that name at $2, without a copy
-- and not yet at work: where it begins is said next.
SELECT format(
           'CREATE SUBSCRIPTION %1$I CONNECTION %2$L PUBLICATION %1$I WITH (slot_name = %1$L, create_slot = false, copy_data = false, enabled = false, synchronous_commit = on%3$s)',
           $1::text, $2::text,
           CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN ', run_as_owner = true' ELSE '' END) AS statement
 WHERE NOT EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
                    WHERE s.subname = $1 AND d.datname = current_database())
