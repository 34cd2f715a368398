-- What kind of server this is, and whether numbers are safe with it.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'server_id', 'log_bin',
    'binlog_format', 'innodb_flush_log_at_trx_commit', 'read_only', 'super_read_only',
    'innodb_autoinc_lock_mode', 'sync_binlog', 'innodb_flush_method', 'log_bin_trust_function_creators')
