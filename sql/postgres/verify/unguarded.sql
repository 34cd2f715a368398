-- Why reading tables would run code of those who own them with a superuser's rights, and what helps.
SELECT problem, hint FROM (VALUES
    (current_setting('shardid.functions_run_as_owner', true) IS DISTINCT FROM 'on' OR current_setting('shardid.on_behalf_of', true) IS NULL,
     'the library of the extension shardid is older than this program',
     'install the new one there, then `shardid apply`'),
    (current_setting('restrict_nonsystem_relation_kind', true) IS NULL,
     format('PostgreSQL %s cannot keep a superuser from reading the views of others', current_setting('server_version')),
     'install the latest minor version there')
) AS checks (fails, problem, hint)
 WHERE fails AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
