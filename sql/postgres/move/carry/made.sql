-- Whether the transaction that makes indexes and the like has committed here: it leaves a word on
-- the subscription ($1).
SELECT coalesce(bool_or(obj_description(oid, 'pg_subscription') = 'shardid: all is made'), false) AS is_made
  FROM pg_subscription
 WHERE subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
