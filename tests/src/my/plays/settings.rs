//! What a session of a play may set.

/// What a session may set, beside what it was before.
pub(super) const SETTINGS: &[&str] = &[
    "time_zone = '+13:00'",
    "time_zone = '-03:30'",
    "time_zone = 'SYSTEM'",
    "timestamp = 1",
    "timestamp = unix_timestamp(sysdate()) - 5",
    "timestamp = unix_timestamp(sysdate()) + 100000",
    "timestamp = DEFAULT",
    "timestamp = DEFAULT",
    "insert_id = 7",
    "insert_id = 0",
    "last_insert_id = 99",
    "auto_increment_increment = 7, auto_increment_offset = 3",
    "auto_increment_increment = 2, auto_increment_offset = 9",
    "auto_increment_increment = 1000",
    "auto_increment_increment = 1, auto_increment_offset = 1",
    "sql_mode = ''",
    "sql_mode = 'ANSI,NO_AUTO_VALUE_ON_ZERO'",
    "sql_mode = 'STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_UNSIGNED_SUBTRACTION'",
    "unique_checks = 0, foreign_key_checks = 0",
    "unique_checks = 1, foreign_key_checks = 1",
    "SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "sql_select_limit = 3",
    "sql_select_limit = DEFAULT",
    "sql_safe_updates = 1",
    "sql_auto_is_null = 1",
    "div_precision_increment = 0",
    "rand_seed1 = 5, rand_seed2 = 5",
    "collation_connection = 'latin1_swedish_ci'",
    "innodb_lock_wait_timeout = 1",
    // In seconds, on MariaDB alone.
    "max_statement_time = 0.001",
    "max_statement_time = 0.01",
    "max_statement_time = 0",
    "max_statement_time = 0",
    // In milliseconds, on MySQL alone, and there for what reads, and what has not begun to write.
    "max_execution_time = 1",
    "max_execution_time = 0",
    "@shardid_committed = 1, @shardid_id = 5, @shardid_run_id = 500, @shardid_step = 1, \
     @shardid_session_us = timestampdiff(MICROSECOND, '1970-01-01', sysdate(6)), \
     @shardid_statement_s = unix_timestamp()",
    "@shardid_shard = 0, @shardid_layout = 'instagram', @shardid_last_place = 9007199254740993",
];

/// What only some plays have, since it changes which ids are promised over a crash.
pub(super) const TRANSACTION_SETTINGS: &[&str] = &[
    "autocommit = 0",
    "autocommit = 1",
    "completion_type = 'CHAIN'",
    "completion_type = 'NO_CHAIN'",
];
