-- Which of the needed things ($1 kinds, $2 names) a server has not.
SELECT CASE kind WHEN 'role' THEN format('role %I is missing', name)
            ELSE format('extension %I is missing', name) END AS problem,
       CASE kind WHEN 'role' THEN format('CREATE ROLE %I;', name)
            ELSE format('CREATE EXTENSION %I;', name) END AS hint
  FROM unnest($1::text[], $2::text[]) AS needed(kind, name)
 WHERE CASE kind WHEN 'role' THEN NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
            ELSE NOT EXISTS (SELECT FROM pg_extension WHERE extname = name) END
 ORDER BY 1
