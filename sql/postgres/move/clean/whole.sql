-- What there is of a copy that is to be opened, of a shard ($2) in a schema ($1): whether the schema is there; where it is not, the
-- one that the shard's tables are in; and whether the subscription ($3) is there that says how its sequences go on.
SELECT there.is_there,
       (SELECT min(n.nspname)::text
          FROM pg_trigger t
          JOIN pg_class c ON c.oid = t.tgrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE NOT there.is_there AND t.tgfoid = to_regprocedure('shardid.refuse_write()') AND t.tgparentid = 0
           AND t.tgargs = convert_to($2::integer::text, 'SQL_ASCII') || '\x00'::bytea) AS elsewhere,
       EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
                WHERE s.subname = $3) AS has_note
  FROM (SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS is_there) AS there
