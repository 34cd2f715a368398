-- The server process of this session.
SELECT pg_backend_pid()
