-- Whether this server can say how many bytes are free on its disk: PostgreSQL
-- itself cannot, but a function of this name may have been made. It is called
-- with this session's rights, so it must be a superuser's.
SELECT format('SELECT %I.%I()::bigint', n.nspname, p.proname) AS statement
  FROM pg_proc p
  JOIN pg_namespace n ON n.oid = p.pronamespace
  JOIN pg_roles r ON r.oid = p.proowner AND r.rolsuper
 WHERE n.nspname = 'public' AND p.proname = 'shardid_free_bytes' AND p.pronargs = 0
