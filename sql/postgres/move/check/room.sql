-- Whether a schema of that name is on the target already. One that a move has left there
-- is named with its move.
SELECT format('schema %I is there already', nspname) AS problem,
       format('look at what it holds; ALTER SCHEMA %I RENAME TO ...; puts it out of the way', nspname) AS hint
  FROM pg_namespace WHERE nspname = $1
