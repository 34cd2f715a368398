-- Sessions of the program mean the same whatever the server's defaults are, and
-- wait for nobody for long.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    SESSION time_zone = '+00:00', SESSION sql_safe_updates = 0, SESSION lock_wait_timeout = 30, SESSION innodb_lock_wait_timeout = 10
