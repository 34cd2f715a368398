-- The roles of a server.
SELECT quote_ident(rolname) AS role FROM pg_roles
