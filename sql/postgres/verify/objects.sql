-- What moves make in this database and on its server, by the names that they give it: kind,
-- name, what it is of ours by another name and what gives that back, the shard of a fence, or of
-- the old copy that is published, what takes it away, and what is to be said before that. No name that somebody else has
-- given stands in a comment of a statement. A subscription may have been renamed: it
-- is ours by its slot or its owner, too. Roles and origins are of the whole server: those of another
-- database are left out, and a role that owns a subscription goes with that.
WITH role AS (
    SELECT r.oid, r.rolname,
           -- What a move makes lets nobody in and has no rows: another role of such a name is somebody's, with all that it owns.
           CASE WHEN r.rolconnlimit = 0 AND NOT r.rolsuper
                     AND NOT EXISTS (SELECT FROM pg_shdepend d WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid
                                        AND d.deptype = 'o' AND d.classid = 'pg_class'::regclass)
                THEN format('DROP OWNED BY %1$I; DROP ROLE %1$I;', r.rolname)
                ELSE format('ALTER ROLE %I RENAME TO ...;', r.rolname) END AS mend
      FROM pg_roles r WHERE r.rolname ~ '^shardid_(move|back)_[0-9]+$'
), subscription AS (
    SELECT s.subname, r.rolname, r.mend,
           CASE WHEN s.subname ~ '^shardid_(move|back)_' THEN NULL
                ELSE coalesce(substring(s.subslotname FROM '^shardid_(?:move|back)_[0-9]+$'), r.rolname) END AS ours
      FROM pg_subscription s
      JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
      LEFT JOIN role r ON r.oid = s.subowner
     WHERE s.subname ~ '^shardid_(move|back)_' OR s.subslotname ~ '^shardid_(move|back)_[0-9]+$' OR r.oid IS NOT NULL
)
SELECT 'subscription' AS kind, subname::text AS name, ours::text AS ours,
       CASE WHEN ours IS NOT NULL THEN format('ALTER SUBSCRIPTION %I RENAME TO %I;', subname, ours) END AS rename, NULL::integer AS shard,
       format('ALTER SUBSCRIPTION %1$I DISABLE; ALTER SUBSCRIPTION %1$I SET (slot_name = NONE); DROP SUBSCRIPTION %1$I;', subname)
       || coalesce(' ' || mend, '') AS mend, NULL::text AS before
  FROM subscription
UNION ALL
SELECT 'slot', slot_name::text, NULL, NULL, NULL, format('SELECT pg_catalog.pg_drop_replication_slot(%L);', slot_name), NULL
  FROM pg_replication_slots
 WHERE slot_name ~ '^shardid_(move|back)_' AND database = current_database()
UNION ALL
SELECT 'publication', p.pubname::text, NULL, NULL,
       (SELECT max(s.shard) FROM shardid.shard s
          JOIN pg_class c ON c.oid = s.sequence
          JOIN pg_publication_namespace n ON n.pnnspid = c.relnamespace
         WHERE n.pnpubid = p.oid AND s.state = 'moved'),
       format('DROP PUBLICATION %I;', p.pubname), NULL
  FROM pg_publication p
 WHERE p.pubname ~ '^shardid_(move|back)_'
UNION ALL
-- What it owns was made with its rights by code of a shard's owners, and would run with those of whoever took it over. One of this
-- database has settings here; what somebody has granted to it in others keeps it.
SELECT 'role', r.rolname::text, NULL, NULL, NULL,
       r.mend, CASE WHEN r.mend ~ '^DROP' AND elsewhere.names IS NOT NULL THEN format('`DROP OWNED BY %I;` in database %s, then here ', r.rolname, elsewhere.names) END
  FROM role r
 CROSS JOIN LATERAL (SELECT string_agg(DISTINCT quote_ident(b.datname), ', ') AS names
                       FROM pg_shdepend d JOIN pg_database b ON b.oid = d.dbid
                      WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid AND b.datname <> current_database()) AS elsewhere
 WHERE NOT EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid)
   AND (elsewhere.names IS NULL
        OR EXISTS (SELECT FROM pg_db_role_setting g JOIN pg_database b ON b.oid = g.setdatabase
                    WHERE g.setrole = r.oid AND b.datname = current_database()))
UNION ALL
SELECT 'origin', roname, NULL, NULL, NULL, format('SELECT pg_catalog.pg_replication_origin_drop(%L);', roname), NULL
  FROM pg_replication_origin
 WHERE roname ~ '^shardid_(move|back)_'
UNION ALL
-- Switched off it is in nobody's way.
SELECT 'event trigger', e.evtname::text, NULL, NULL, NULL, format('ALTER EVENT TRIGGER %I DISABLE;', e.evtname), NULL
  FROM pg_event_trigger e
 WHERE e.evtname ~ '^shardid_(move|back)_[0-9]+(_name)?$' AND e.evtenabled <> 'D'
UNION ALL
SELECT 'fence', n.nspname::text, NULL, NULL,
       max(substring(encode(t.tgargs, 'escape') FROM '^([0-9]{1,9})(?![0-9])')::integer),
       -- No name of another schema's.
       (SELECT format('ALTER SCHEMA %I RENAME TO %I;', n.nspname, free.name)
          FROM (SELECT left(n.nspname, 48) || '_left' || CASE i WHEN 1 THEN '' ELSE '_' || i END AS name, i
                  FROM generate_series(1, 1000) AS i) AS free
         WHERE NOT EXISTS (SELECT FROM pg_namespace o WHERE o.nspname = free.name)
         ORDER BY i LIMIT 1), NULL
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE t.tgfoid = to_regprocedure('shardid.refuse_write()') AND t.tgenabled <> 'D' AND t.tgparentid = 0
 GROUP BY n.nspname
 ORDER BY 1, 2
