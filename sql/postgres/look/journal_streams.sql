-- The streams that the journal knows of: name, schema, who is followed, and who follows.
SELECT format('shardid_move_%s', move) AS name, schema, source AS publisher, target AS follower
  FROM shardid.move WHERE kind = 'copy' AND state NOT IN ('done', 'aborted')
UNION ALL
SELECT format('shardid_back_%s', move), schema, target, source
  FROM shardid.move WHERE kind = 'copy' AND way_back AND state <> 'aborted' AND retired_at IS NULL
