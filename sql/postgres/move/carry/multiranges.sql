-- Statements that give the multirange types of a schema ($1), where they are made, the owners that they have here, if they have
-- not: pg_dump leaves that to ALTER TYPE of their range types, which servers up to 15 do not have do it.
SELECT format($do$DO $body$
BEGIN
    IF (SELECT pg_get_userbyid(t.typowner) FROM pg_type t WHERE t.oid = %1$L::regtype) <> %2$L THEN
        ALTER TYPE %1$s OWNER TO %3$I;
    END IF;
END $body$$do$, m.oid::regtype, pg_get_userbyid(m.typowner), pg_get_userbyid(m.typowner)) AS statement
  FROM pg_type m JOIN pg_namespace n ON n.oid = m.typnamespace
 WHERE n.nspname = $1 AND m.typtype = 'm'
 ORDER BY m.typname
