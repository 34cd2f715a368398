-- The journal outlives the nodes it speaks of: one that took part in a move can be removed
-- once no move needs it any more.

ALTER TABLE shardid.move DROP CONSTRAINT move_source_fkey, DROP CONSTRAINT move_target_fkey;
ALTER TABLE shardid.leftover DROP CONSTRAINT leftover_node_fkey;
