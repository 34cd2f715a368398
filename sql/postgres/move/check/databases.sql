-- The databases of the server; nobody can have renamed a node's to template0, which takes no sessions.
SELECT datname::text FROM pg_catalog.pg_database WHERE datname <> 'template0' ORDER BY 1
