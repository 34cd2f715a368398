-- Ends the moves of an older catalog that are unfinished there, and takes old copies for
-- gone where the shard is not on the target any more: what became of them is not known here, nor
-- what they have left, which `verify` goes and sees.
WITH ended AS (
    UPDATE shardid.move AS m
       SET state = CASE WHEN m.state = 'done' THEN 'done' ELSE 'aborted' END,
           state_since = CASE WHEN m.state = 'done' THEN m.state_since ELSE now() END,
           retired_at = CASE WHEN m.state = 'done' THEN now() ELSE m.retired_at END
     WHERE m.state NOT IN ('done', 'aborted')
        OR (m.state = 'done' AND m.kind = 'copy' AND m.retired_at IS NULL
            AND NOT EXISTS (SELECT FROM shardid.map p WHERE p.shard = m.shard AND p.node = m.target))
    RETURNING m.move
)
UPDATE shardid.leftover AS l SET removed_at = now()
  FROM ended AS e
 WHERE l.move = e.move AND l.removed_at IS NULL
