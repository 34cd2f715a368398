-- Refuses, as a superuser, a catalog that is not superusers' alone: what is in it is done with a superuser's rights. One that no
-- superuser owns may be one of the program's all the same, from before it was a superuser's; and one may have been given to a superuser, as by
-- REASSIGN OWNED, with all that its owner has put there. That a superuser has made it is shown by a function that takes rows of its
-- tables and is leakproof (catalog/made_by_superuser.sql): a plain role makes none. Whoever was given a right to write to it
-- has the program do as he likes, and whatever he has hung on it by a right to that stays when the right goes.
DO $do$
DECLARE
    home oid := (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'shardid');
    extension oid := (SELECT x.oid FROM pg_catalog.pg_extension x WHERE x.extname = 'shardid');
    stranger text;
    refused text;
    mend text;
    types text;
BEGIN
    IF NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user) THEN
        RETURN;
    END IF;
    -- One of the catalog's tables is enough: a name is changed soon, and whoever owns another extension may give a table to that.
    SELECT pg_catalog.string_agg(DISTINCT o.rolname, ', ') FILTER (WHERE NOT o.rolsuper),
           pg_catalog.string_agg(DISTINCT pg_catalog.format('REVOKE CREATE ON SCHEMA shardid FROM %I; ', o.rolname), '') FILTER (WHERE NOT o.rolsuper),
           pg_catalog.string_agg(pg_catalog.format('ALTER TABLE %s SET SCHEMA shardid_before;', c.oid::pg_catalog.regclass), ' ' ORDER BY c.relname),
           pg_catalog.string_agg(c.reltype::pg_catalog.text, ' ' ORDER BY c.relname) FILTER (WHERE c.relname IN ('catalog', 'leftover', 'map', 'move'))
      INTO stranger, refused, mend, types
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles o ON o.oid = c.relowner
     WHERE c.relnamespace = home AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND c.relname IN ('catalog', 'catalog_history', 'node', 'map', 'map_history', 'move', 'move_log', 'leftover', 'ticket_change', 'ticket_node', 'ticket_server')
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                        WHERE e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND e.objid = c.oid
                          AND e.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.refobjid = extension AND e.deptype = 'e')
    HAVING pg_catalog.count(*) > 0;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    mend := pg_catalog.format('`BEGIN; %sCREATE SCHEMA shardid_before; %s COMMIT;` there, and `shardid catalog rebuild` makes it from the nodes', refused, mend);
    IF stranger IS NOT NULL THEN
        RAISE EXCEPTION 'the catalog in schema shardid is of role %, which is no superuser, and a superuser reads nothing of that', pg_catalog.quote_ident(stranger)
            USING ERRCODE = '55000', HINT = 'connect as that role again, or put the catalog away, since its owner may have had it do more: ' || mend;
    END IF;
    PERFORM FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_roles o ON o.oid = p.proowner JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = 'shardid' AND p.proname = 'made_by_superuser' AND p.proargtypes::pg_catalog.text = types AND p.proleakproof AND o.rolsuper;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing shows that the catalog in schema shardid was made by a superuser, and one does nothing by what another role may have put there'
            USING ERRCODE = '55000', HINT = 'if none but superusers has ever owned it, as that of an earlier version of shardid: `CREATE FUNCTION shardid.made_by_superuser(shardid.catalog, shardid.leftover, shardid.map, shardid.move) RETURNS boolean LANGUAGE sql IMMUTABLE LEAKPROOF AS ''SELECT true''` there; if not, put the catalog away: ' || mend;
    END IF;
    SELECT pg_catalog.string_agg(DISTINCT w.grantee, ', '),
           pg_catalog.string_agg(DISTINCT pg_catalog.format('REVOKE %s ON %s %s FROM %s CASCADE;', w.rights, w.kind, w.name, w.grantee), ' ')
      INTO stranger, refused
      FROM (SELECT c.oid::pg_catalog.regclass AS name, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,
                   CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.format('%I', r.rolname) END AS grantee,
                   pg_catalog.string_agg(DISTINCT x.privilege_type, ', ') AS rights
              FROM pg_catalog.pg_class c
             CROSS JOIN LATERAL (SELECT c.relacl UNION ALL
                                 SELECT a.attacl FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL) AS given (acl)
             CROSS JOIN LATERAL pg_catalog.aclexplode(given.acl) AS x
              LEFT JOIN pg_catalog.pg_roles r ON r.oid = x.grantee
             WHERE c.relnamespace = home AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND x.grantee <> c.relowner
               AND x.privilege_type <> 'SELECT' AND r.rolsuper IS NOT TRUE
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                                WHERE e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND e.objid = c.oid
                                  AND e.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.refobjid = extension AND e.deptype = 'e')
             GROUP BY c.oid, x.grantee, r.rolname) AS w;
    IF stranger IS NOT NULL THEN
        RAISE EXCEPTION '% may write to the catalog in schema shardid, and a superuser does nothing by what others may have put there', stranger
            USING ERRCODE = '55000', HINT = pg_catalog.format('if nobody has by that: `%s` there; if not, put the catalog away: %s', refused, mend);
    END IF;
    SELECT pg_catalog.string_agg(pg_catalog.pg_describe_object(h.classid, h.oid, 0), ', '), pg_catalog.string_agg(h.drops, ' ')
      INTO stranger, refused
      FROM (SELECT 'pg_catalog.pg_trigger'::pg_catalog.regclass AS classid, t.oid, p.proowner AS owner, t.tgrelid AS relid,
                   pg_catalog.format('DROP TRIGGER IF EXISTS %I ON %s;', t.tgname, t.tgrelid::pg_catalog.regclass) AS drops
              FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal
            UNION ALL
            SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, k.oid, o.relowner, k.confrelid,
                   pg_catalog.format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I;', k.conrelid::pg_catalog.regclass, k.conname)
              FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class o ON o.oid = k.conrelid WHERE k.contype = 'f') AS h
      JOIN pg_catalog.pg_class c ON c.oid = h.relid AND c.relnamespace = home
      JOIN pg_catalog.pg_roles r ON r.oid = h.owner AND NOT r.rolsuper
     WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                        WHERE e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND e.objid = c.oid
                          AND e.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.refobjid = extension AND e.deptype = 'e');
    IF stranger IS NOT NULL THEN
        RAISE EXCEPTION 'on the catalog in schema shardid is a plain role''s %, and a superuser does nothing by what others may have put there', stranger
            USING ERRCODE = '55000', HINT = pg_catalog.format('if nobody has by that: `%s` there; if not, put the catalog away: %s', refused, mend);
    END IF;
END
$do$
