-- A statement that takes from a schema of a move, named %1$I, what default privileges of the program's role have given others in
-- it: nobody else is to make anything there, or it would not go. A query that names `private` comes after this.
WITH private AS (
    SELECT $text$DO $do$
DECLARE
    other text;
BEGIN
    FOR other IN SELECT DISTINCT CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END
                   FROM pg_namespace n, aclexplode(n.nspacl) AS x
                  WHERE n.nspname = %1$L AND x.grantee <> n.nspowner
    LOOP
        EXECUTE format('REVOKE ALL ON SCHEMA %%I FROM %%s CASCADE', %1$L, other);
    END LOOP;
END
$do$$text$ AS text
)
