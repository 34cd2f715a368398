-- Settings that say what statements and values mean, how they are shown, or how long anything may
-- take, where a server, a database or a role has changed them. Not what they may use, what is
-- logged, how safe a commit is, or what is somebody's own.
WITH changed AS (
    SELECT s.name, s.boot_val, s.setting, s.source FROM pg_settings s
     WHERE s.context IN ('user', CASE current_setting('is_superuser') WHEN 'on' THEN 'superuser' END)
       AND s.category !~ '^(Customized|Developer|Resource Usage|Query Tuning / (Planner Cost|Genetic|Other)|Reporting|Write-Ahead Log|Replication|Statistics|Autovacuum|Connections and Authentication)'
       AND s.category !~ 'Shared Library Preloading'
       -- Where nothing is said, as of tablespaces; where it makes tables as the database has them.
       AND s.boot_val <> '' AND s.name NOT IN ('default_table_access_method', 'default_toast_compression')
       AND s.reset_val <> s.boot_val
       -- Not asked in a parallel worker (debug_parallel_query), where nothing looks changed.
       AND pg_backend_pid() > 0
)
