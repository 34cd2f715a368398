-- Tables of old copies (schemas $1, of shards $2) and behind fences whose guard was switched off, or is on again for
-- clients alone, as pg_restore --disable-triggers leaves it; or is not there: schema, table, shard, whether it is
-- not there, and what puts it back, in the place of another trigger of that name. A table that was made there since has none
-- either. Where none of the schema has one, and tables of another do, that has lost its name to this one: what gives it back.
WITH guarded AS (
    SELECT copy.schema, copy.shard FROM unnest($1::text[], $2::integer[]) AS copy (schema, shard)
    UNION
    SELECT n.nspname::text, s.shard
      FROM shardid.shard s
      JOIN pg_class c ON c.oid = s.sequence
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE s.state = 'fenced'
), member AS (
    SELECT c.oid, g.schema, g.shard, format('%I.%I', n.nspname, c.relname) AS name, c.relkind = 'r' AS has_rows
      FROM guarded g
      JOIN pg_namespace n ON n.nspname = g.schema
      JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
), guard AS (
    SELECT m.*,
           coalesce(bool_or(t.tgtype & 1 = 0), false) AS has_one,
           -- Rows of a partitioned table are in its partitions.
           NOT m.has_rows OR coalesce(bool_or(t.tgtype & 1 = 1), false) AS has_one_of_rows,
           string_agg(format('ENABLE ALWAYS TRIGGER %I', t.tgname), ', ' ORDER BY t.tgname)
               FILTER (WHERE t.tgenabled <> 'A') AS enable
      FROM member m
      LEFT JOIN pg_trigger t ON t.tgrelid = m.oid AND t.tgfoid = to_regprocedure('shardid.refuse_write()')
     GROUP BY m.oid, m.schema, m.shard, m.name, m.has_rows
), mend AS (
    SELECT g.*,
           CASE WHEN NOT has_one THEN format(
               'CREATE OR REPLACE TRIGGER shardid_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION shardid.refuse_write(%L); ',
               name, shard) END AS one,
           CASE WHEN NOT has_one_of_rows THEN format(
               'CREATE OR REPLACE TRIGGER shardid_fence_rows BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW WHEN (NOT shardid.is_follower(%L::regclass)) EXECUTE FUNCTION shardid.refuse_write(%L); ',
               name, name, shard) END AS of_rows,
           concat_ws(', ', CASE WHEN NOT has_one THEN 'ENABLE ALWAYS TRIGGER shardid_fence' END,
                     CASE WHEN NOT has_one_of_rows THEN 'ENABLE ALWAYS TRIGGER shardid_fence_rows' END, enable) AS enables
      FROM guard g
)
SELECT schema, name, shard, NOT (has_one AND has_one_of_rows) AS is_missing,
       concat(one, of_rows, format('ALTER TABLE ONLY %s %s;', name, enables)) AS mend,
       CASE WHEN NOT EXISTS (SELECT FROM guard g WHERE g.schema = m.schema AND (g.has_one OR g.has_rows AND g.has_one_of_rows)) THEN
           (SELECT CASE WHEN count(*) > 0 THEN format('ALTER SCHEMA %1$I RENAME TO ...; ALTER SCHEMA %2$I RENAME TO %1$I;', m.schema, min(n.nspname)) END
              FROM pg_trigger t
              JOIN pg_class c ON c.oid = t.tgrelid
              JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE t.tgfoid = to_regprocedure('shardid.refuse_write()') AND n.nspname <> m.schema
               AND t.tgargs = convert_to(m.shard::text, 'SQL_ASCII') || '\x00'::bytea) END AS renames
  FROM mend m
 WHERE enables <> ''
 ORDER BY schema, name
