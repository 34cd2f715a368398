-- The roles of a server that are no superusers, who have every right.
SELECT quote_ident(rolname) AS role FROM pg_roles WHERE NOT rolsuper
