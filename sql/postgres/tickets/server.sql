-- Which server this is: another database, a restored one (a new timeline) and a
-- copy with its own life have another identity. A standby is on no timeline of its own.
SELECT (SELECT system_identifier FROM pg_control_system())
       || '/' || CASE WHEN pg_is_in_recovery() THEN 'standby'
                      ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END
       || '/' || current_database() AS identity,
       (SELECT mark FROM shardid.server) AS mark
