-- Whether this server applies what comes with the rights of the tables' owners.
SELECT current_setting('server_version_num')::integer >= 160000
