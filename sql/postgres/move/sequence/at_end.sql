-- The sequences of a schema ($1) that have come to their end, but for generators. Read by number, and only what is found to be one:
-- OFFSET keeps the planner from calling the function before it has joined.
SELECT member.name
  FROM (SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name,
               CASE WHEN q.seqincrement > 0 THEN q.seqmax ELSE q.seqmin END AS last
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_sequence q ON q.seqrelid = c.oid
         WHERE n.nspname = $1 AND NOT q.seqcycle
           AND NOT EXISTS (SELECT FROM shardid.shard s WHERE s.sequence::oid = c.oid)
           AND NOT EXISTS (SELECT FROM shardid.id_sequence i WHERE i.sequence::oid = c.oid)
        OFFSET 0) AS member
 CROSS JOIN LATERAL shardid.read_sequence(member.oid) s
 WHERE s.is_called AND s.last_value = member.last
 ORDER BY 1
