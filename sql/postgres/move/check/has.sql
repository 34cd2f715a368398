-- Which of the needed things ($1 kinds, $2 names, $3 the schemas of extensions) a server has not. $4: the names of the program's own
-- roles.
SELECT problem, hint FROM unnest($1::text[], $2::text[], $3::text[]) AS needed(kind, name, home)
 CROSS JOIN LATERAL (
    SELECT format('%s %I is missing', kind, name),
           CASE WHEN kind = 'role' AND name = ANY ($4::text[])
                THEN format('it is the program''s own on the node that has the shard: take from %I there what the shard names it for, by REVOKE, or give it another owner', name)
                ELSE CASE kind WHEN 'role' THEN format('CREATE ROLE %I;', name)
                WHEN 'tablespace' THEN format('CREATE TABLESPACE %I LOCATION ...;', name)
                ELSE format('CREATE EXTENSION %I SCHEMA %I;', name, home) END END
     WHERE CASE kind WHEN 'role' THEN NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
                WHEN 'tablespace' THEN NOT EXISTS (SELECT FROM pg_tablespace WHERE spcname = name)
                ELSE NOT EXISTS (SELECT FROM pg_extension WHERE extname = name) END
    UNION ALL
    SELECT format('extension %I is in schema %I, and in schema %I where the shard is', name, n.nspname, home),
           format('have extension %I be in the same schema on both nodes; it is the whole database''s, and goes from whoever uses it where it is', name)
      FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
     WHERE kind = 'extension' AND e.extname = name AND n.nspname <> home
 ) AS found(problem, hint)
 ORDER BY 1
