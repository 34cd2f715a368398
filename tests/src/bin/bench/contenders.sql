-- What ids are measured against.
CREATE SEQUENCE seq_1;
CREATE SEQUENCE seq_1000 CACHE 1000;

-- The function of Instagram's engineering blog, word for word; it is printed
-- there for a driver that writes % as %%.
CREATE SCHEMA insta5;
CREATE SEQUENCE insta5.table_id_seq;
CREATE OR REPLACE FUNCTION insta5.next_id(OUT result bigint) AS $$
DECLARE
    our_epoch bigint := 1314220021721;
    seq_id bigint;
    now_millis bigint;
    shard_id int := 5;
BEGIN
    SELECT nextval('insta5.table_id_seq') % 1024 INTO seq_id;

    SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) INTO now_millis;
    result := (now_millis - our_epoch) << 23;
    result := result | (shard_id << 10);
    result := result | (seq_id);
END;
$$ LANGUAGE PLPGSQL;

-- A layout with so many ids a millisecond that no loop runs ahead of the clock.
SELECT create_layout('roomy', '2026-01-01Z', '1 ms', 128, 65536);
SELECT create_shard(0, layout => 'roomy');
