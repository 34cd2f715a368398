-- Statements that take away what default privileges of the program's role have given to others on tables of the catalog that were
-- just made, all but those that were there before ($1): whoever writes to one has the program do as he likes. Everybody has what the
-- migrations give.
SELECT DISTINCT format('REVOKE %s ON %s %s FROM %s CASCADE', x.privilege_type, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass,
                       CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
  FROM pg_class c
 CROSS JOIN LATERAL aclexplode(c.relacl) AS x
 WHERE c.relnamespace = to_regnamespace('shardid') AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND c.oid <> ALL ($1::oid[])
   AND x.grantee <> c.relowner AND (x.grantee <> 0 OR x.privilege_type <> 'SELECT')
