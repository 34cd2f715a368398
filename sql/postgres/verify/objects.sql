-- What moves make in this database, by the names that they give it.
SELECT 'slot' AS kind, slot_name::text AS name,
       format('SELECT pg_drop_replication_slot(%L);', slot_name) AS mend
  FROM pg_replication_slots
 WHERE slot_name ~ '^shardid_(move|back)_' AND database = current_database()
UNION ALL
SELECT 'publication', pubname::text, format('DROP PUBLICATION %I;', pubname)
  FROM pg_publication
 WHERE pubname ~ '^shardid_(move|back)_'
UNION ALL
SELECT 'subscription', s.subname::text,
       format('ALTER SUBSCRIPTION %1$I DISABLE; ALTER SUBSCRIPTION %1$I SET (slot_name = NONE); DROP SUBSCRIPTION %1$I;', s.subname)
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE s.subname ~ '^shardid_(move|back)_'
UNION ALL
SELECT 'fence', n.nspname::text,
       string_agg(format('DROP TRIGGER shardid_fence ON %I.%I;', n.nspname, c.relname), ' ' ORDER BY c.relname)
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE t.tgname = 'shardid_fence' AND t.tgparentid = 0
 GROUP BY n.nspname
 ORDER BY 1, 2
