-- The copy on the source ($2, schema $4) is the old one now: move $1 has left
-- it. $3 is the target.
INSERT INTO shardid.leftover (move, node, kind, name)
SELECT $1, $2, 'schema', $4 WHERE $2 <> $3
ON CONFLICT (node, kind, name, move) DO UPDATE SET removed_at = NULL
