-- Has nobody write a move down, nor go on with one, until the transaction ends.
LOCK TABLE shardid.move IN SHARE ROW EXCLUSIVE MODE
