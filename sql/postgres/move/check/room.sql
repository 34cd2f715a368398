-- Whether a schema of that name is on the target already.
SELECT format('schema %I is there already', nspname) AS problem,
       format('look at what it holds; if it is an old copy: DROP SCHEMA %I CASCADE;', nspname) AS hint
  FROM pg_namespace WHERE nspname = $1
