-- Publishes a schema ($2) under a name ($1), unless that is done.
SELECT format('CREATE PUBLICATION %I FOR TABLES IN SCHEMA %I', $1::text, $2::text) AS statement
 WHERE NOT EXISTS (SELECT FROM pg_publication WHERE pubname = $1)
