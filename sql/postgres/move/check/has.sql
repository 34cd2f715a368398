-- Which of the needed things ($1 kinds, $2 names) a server has not.
SELECT format('%s %I is missing', kind, name) AS problem,
       CASE kind WHEN 'role' THEN format('CREATE ROLE %I;', name)
            WHEN 'tablespace' THEN format('CREATE TABLESPACE %I LOCATION …;', name)
            ELSE format('CREATE EXTENSION %I;', name) END AS hint
  FROM unnest($1::text[], $2::text[]) AS needed(kind, name)
 WHERE CASE kind WHEN 'role' THEN NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
            WHEN 'tablespace' THEN NOT EXISTS (SELECT FROM pg_tablespace WHERE spcname = name)
            ELSE NOT EXISTS (SELECT FROM pg_extension WHERE extname = name) END
 ORDER BY 1
