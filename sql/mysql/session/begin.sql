-- Sessions of the program mean the same whatever the server's defaults and init_connect are, and
-- wait for nobody for long. What is written is committed, a COMMIT leaves the session as it is, and
-- a look has all rows. Each is one that any user may set.
SET SESSION completion_type = 'NO_CHAIN', SESSION autocommit = 1,
    SESSION /*!80000 transaction_read_only */ /*M! tx_read_only */ = 0,
    SESSION /*!80000 transaction_isolation */ /*M! tx_isolation */ = 'REPEATABLE-READ',
    SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    SESSION time_zone = '+00:00', SESSION sql_safe_updates = 0, SESSION sql_auto_is_null = 0,
    SESSION sql_select_limit = 18446744073709551615, SESSION sql_big_selects = 1, SESSION group_concat_max_len = 1048576, SESSION sort_buffer_size = 2097152,
    SESSION foreign_key_checks = 1, SESSION unique_checks = 1, SESSION default_storage_engine = 'InnoDB',
    SESSION optimizer_switch = 'derived_merge=on', SESSION sql_quote_show_create = 1, SESSION updatable_views_with_limit = 1,
    /*!80013 SESSION use_secondary_engine = 'ON', */
    /*M! SESSION max_session_mem_used = 9223372036854775807, SESSION tmp_disk_table_size = 18446744073709551615, SESSION check_constraint_checks = 1, SESSION sql_if_exists = 0, SESSION alter_algorithm = 'DEFAULT', SESSION old_mode = '',
    SESSION idle_transaction_timeout = 0, SESSION idle_readonly_transaction_timeout = 0, SESSION idle_write_transaction_timeout = 0, */
    SESSION /*!80000 max_execution_time */ /*M! max_statement_time */ = 0, SESSION wait_timeout = 28800,
    SESSION lock_wait_timeout = 30, SESSION innodb_lock_wait_timeout = 10;
-- What init_connect has begun.
ROLLBACK
