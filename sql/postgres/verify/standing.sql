-- Moves behind whose fence writers wait, and which no session is working on: a session holds the lock of move/journal/lock.sql for
-- as long as it works on the move of a shard.
SELECT m.move AS id, m.shard, m.state
  FROM shardid.move m
 WHERE m.state IN ('fenced', 'switched')
   AND NOT EXISTS (
         SELECT FROM pg_locks l
          WHERE l.granted AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid = 324843900 AND l.objid = m.shard::oid
            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
 ORDER BY m.move
