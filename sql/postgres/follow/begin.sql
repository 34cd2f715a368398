-- The session may be one that only looks.
BEGIN READ WRITE
