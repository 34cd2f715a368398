-- What gives a schema ($1) the name that a move knows it by ($2), which another one may have.
SELECT concat((SELECT format('ALTER SCHEMA %I RENAME TO ...; ', nspname) FROM pg_namespace WHERE nspname = $2),
              format('ALTER SCHEMA %I RENAME TO %I;', $1::text, $2::text)) AS statements
