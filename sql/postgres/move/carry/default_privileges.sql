-- What this role gives to others on all that it makes in the database is not for the copy, whose
-- rights are those of the shard. First the statements that have it give no more and no less than a
-- new database does, then those that put it back.
WITH kind (object, type, plural) AS (
    VALUES ('r'::"char", 'r'::"char", 'TABLES'), ('S', 's', 'SEQUENCES'), ('f', 'f', 'FUNCTIONS'), ('T', 'T', 'TYPES'), ('n', 'n', 'SCHEMAS')
), of_role AS (
    SELECT k.plural, d.defaclacl AS acl, acldefault(k.type, d.defaclrole) AS usual
      FROM pg_default_acl d JOIN kind k ON k.object = d.defaclobjtype
     WHERE d.defaclrole = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user) AND d.defaclnamespace = 0
), differs AS (
    SELECT o.plural, x.grantee, x.privilege_type, x.is_grantable, true AS is_more
      FROM of_role o CROSS JOIN LATERAL (SELECT * FROM aclexplode(o.acl) EXCEPT SELECT * FROM aclexplode(o.usual)) AS x
    UNION ALL
    SELECT o.plural, x.grantee, x.privilege_type, x.is_grantable, false
      FROM of_role o CROSS JOIN LATERAL (SELECT * FROM aclexplode(o.usual) EXCEPT SELECT * FROM aclexplode(o.acl)) AS x
), change AS (
    SELECT format('%s ON %s', d.privilege_type, d.plural) AS what, d.is_more, d.is_grantable,
           CASE d.grantee WHEN 0 THEN 'PUBLIC' ELSE format('%I', pg_get_userbyid(d.grantee)) END AS who
      FROM differs d
)
-- What there is more goes first, and comes last: one right may be there in another way.
SELECT CASE WHEN is_more = is_before THEN format('ALTER DEFAULT PRIVILEGES REVOKE %s FROM %s', what, who)
            ELSE format('ALTER DEFAULT PRIVILEGES GRANT %s TO %s%s', what, who, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
       END AS statement, is_before
  FROM change CROSS JOIN (VALUES (true), (false)) AS side (is_before)
 ORDER BY is_before DESC, is_more = is_before DESC, what, who
