-- The path that role and database have: CREATE EXTENSION makes the user functions in
-- its first schema.
RESET search_path
