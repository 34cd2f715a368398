-- One at a time finds out or changes by which secret this node follows others. Not an advisory lock, which whoever may
-- connect could hold.
LOCK TABLE shardid.layout IN SHARE UPDATE EXCLUSIVE MODE
