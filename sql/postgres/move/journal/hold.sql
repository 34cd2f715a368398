-- One row where a move ($1) is still in the hands of the program with a term ($2), and
-- stays so until this transaction ends.
SELECT move FROM shardid.move WHERE move = $1 AND term = $2 FOR SHARE
