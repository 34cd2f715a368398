-- By which settings what follows another node would take the texts of a copy for something else, or be somebody else. Up to
-- 15 it has a role of its own, which is given them; from 16 on its worker is a session of the role that subscribes, as this one, but for
-- what this one has said itself. As a server ranks them: a role's in a database, a role's, a database's, all roles', its files'.
-- Without a copy ($1 false) no text is read by them.
WITH said AS (
    SELECT split_part(c.said, '=', 1) AS name, substr(c.said, strpos(c.said, '=') + 1) AS value,
           CASE WHEN s.setrole <> 0 AND s.setdatabase <> 0 THEN 1 WHEN s.setrole <> 0 THEN 2 WHEN s.setdatabase <> 0 THEN 3 ELSE 4 END AS place
      FROM pg_db_role_setting s
      JOIN pg_database d ON d.datname = current_database() AND s.setdatabase IN (0, d.oid)
      JOIN pg_roles r ON r.rolname = current_user AND s.setrole IN (0, r.oid),
           unnest(s.setconfig) AS c(said)
    UNION ALL
    SELECT name, setting, 5 FROM pg_file_settings WHERE applied
)
SELECT format('what follows another node would go by %s = %s, and not by %s', m.name, s.value, m.value) AS problem,
       format('ALTER ROLE %I IN DATABASE %I SET %s = %L; there, which is for the program''s own role alone',
              current_user, current_database(), m.name, m.value) AS hint
  FROM pg_database d
  JOIN (SELECT DISTINCT ON (name) name, value FROM said ORDER BY name, place) AS s ON d.datname = current_database()
  JOIN LATERAL (VALUES
      ('client_encoding', pg_encoding_to_char(d.encoding),
       d.encoding <> 0 AND pg_char_to_encoding(s.value) NOT IN (0, d.encoding)),
      ('array_nulls', 'on', lower(s.value) NOT IN ('on', 'true', 'yes', '1')),
      ('xmloption', 'content', lower(s.value) <> 'content'),
      ('role', 'none', s.value <> 'none')) AS m(name, value, differs) ON m.name = s.name
 WHERE current_setting('server_version_num')::integer >= 160000
   AND m.differs
   AND ($1 OR m.name = 'role')
 ORDER BY m.name
