-- Keeps everybody from planning a move back to the old copy of a move ($1) until this
-- transaction ends; what was planned before is seen by its next statement.
SELECT move FROM shardid.move WHERE move = $1 FOR UPDATE
