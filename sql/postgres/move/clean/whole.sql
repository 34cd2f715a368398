-- What there is of a copy that is to be opened, of a shard ($2) in a schema ($1): whether the schema has tables that are the
-- shard's, or none are; the schema that those are in else; and whether the subscription ($3) is there that says how its
-- sequences go on.
WITH home AS (
    SELECT DISTINCT n.nspname
      FROM pg_trigger t
      JOIN pg_class c ON c.oid = t.tgrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE t.tgfoid = to_regprocedure('shardid.refuse_write()') AND t.tgparentid = 0
       AND t.tgargs = convert_to($2::integer::text, 'SQL_ASCII') || '\x00'::bytea
)
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AND ($1 IN (TABLE home) OR NOT EXISTS (TABLE home)) AS is_there,
       (SELECT min(nspname)::text FROM home WHERE nspname <> $1) AS elsewhere,
       EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
                WHERE s.subname = $3) AS has_note
