-- Writes down that the old copy of a move ($1) is being dropped; $2 is our term. No row
-- where it is gone back to, or has none.
UPDATE shardid.move m SET retire_begun_at = coalesce(retire_begun_at, now())
 WHERE move = $1 AND term = $2 AND state = 'done' AND kind = 'copy'
   AND NOT EXISTS (SELECT FROM shardid.move b
                    WHERE b.rollback_of = m.move AND b.state NOT IN ('done', 'aborted'))
RETURNING move
