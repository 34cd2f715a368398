-- Neither engine takes a stored function as a column's default, and neither lets
-- a procedure make a trigger: so this writes the trigger for you to run.

DROP FUNCTION IF EXISTS shardid.id_trigger;
CREATE FUNCTION shardid.id_trigger(
    in_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    of_table VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    of_column VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, shard BIGINT)
    RETURNS TEXT CHARACTER SET utf8mb4 DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'The CREATE TRIGGER that fills a column, declared DEFAULT 0, with ids of a shard'
BEGIN
    DECLARE db VARCHAR(130) CHARACTER SET utf8mb4 DEFAULT concat('`', replace(in_database, '`', '``'), '`');
    DECLARE tab VARCHAR(130) CHARACTER SET utf8mb4 DEFAULT concat('`', replace(of_table, '`', '``'), '`');
    DECLARE col VARCHAR(130) CHARACTER SET utf8mb4 DEFAULT concat('`', replace(of_column, '`', '``'), '`');
    RETURN concat('CREATE TRIGGER ', db, '.`', replace(left(concat(of_table, '_', of_column, '_is_an_id'), 64), '`', '``'),
        '` BEFORE INSERT ON ', db, '.', tab,
        ' FOR EACH ROW SET NEW.', col, ' = if(coalesce(NEW.', col, ', 0) = 0, shardid.next_id(', shard, '), NEW.', col, ')');
END;
