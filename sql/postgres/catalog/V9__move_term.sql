-- Which program works on a move: whoever begins to draws a term, higher than all before,
-- and every change of the journal and of a node asks whether it is still the one.

ALTER TABLE shardid.catalog ADD COLUMN move_term bigint NOT NULL DEFAULT 0;
ALTER TABLE shardid.move ADD COLUMN term bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN shardid.catalog.move_term IS 'the highest term of a move; grows each time a program begins to work on one';
COMMENT ON COLUMN shardid.move.term IS 'that of the program which may work on the move; one with a lower term changes nothing';

-- Dropping an old copy is written down before it begins, as everything is: it cannot be
-- gone back to from then on.
ALTER TABLE shardid.move ADD COLUMN retire_begun_at timestamptz;

COMMENT ON COLUMN shardid.move.retire_begun_at IS 'since when the old copy is being dropped';
