-- What a soak takes ids from; see generators.rs.
SELECT create_layout('small', '2026-01-01Z', '10 ms', 8192, 16);
SELECT create_shard(5);
SELECT create_shard(6, 'other name');
ALTER SCHEMA "other name" RENAME TO shard_0006;
SELECT create_shard(7, layout => 'snowflake');
SELECT create_shard(8, layout => 'decimal19');
SELECT create_shard(9, layout => 'js53');
SELECT create_shard(10, layout => 'small');
SELECT create_shard(11);
SELECT create_shard(12);
SELECT create_id_sequence('own_ids', 5);

-- Tables that own the sequences which operations come over.
CREATE TABLE shard_0005.owner (id bigint);
CREATE TABLE shard_0007.owner (id bigint);
CREATE TABLE shard_0008.owner (id bigint);
CREATE TABLE shard_0010.owner (id bigint);
CREATE TABLE shard_0011.owner (id bigint);
CREATE TABLE owner_of_own_ids (id bigint);
ALTER SEQUENCE shard_0005.shard_id_seq OWNED BY shard_0005.owner.id;
ALTER SEQUENCE shard_0007.shard_id_seq OWNED BY shard_0007.owner.id;
ALTER SEQUENCE shard_0008.shard_id_seq OWNED BY shard_0008.owner.id;
ALTER SEQUENCE shard_0010.shard_id_seq OWNED BY shard_0010.owner.id;
ALTER SEQUENCE shard_0011.shard_id_seq OWNED BY shard_0011.owner.id;
ALTER SEQUENCE own_ids OWNED BY owner_of_own_ids.id;

CREATE TABLE filled (id bigint PRIMARY KEY DEFAULT next_id(5), n int);

-- Large enough for parallel workers.
CREATE TABLE wide AS SELECT n FROM generate_series(1, 20000) n;

-- Two roles that may take ids; they outlive a database that is dumped.
DO $$ BEGIN
    CREATE ROLE ann;
    CREATE ROLE bob;
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq, shard_0006.shard_id_seq, shard_0007.shard_id_seq,
    shard_0008.shard_id_seq, shard_0009.shard_id_seq, shard_0010.shard_id_seq,
    shard_0011.shard_id_seq, shard_0012.shard_id_seq, own_ids TO ann, bob;

-- The function of Instagram's engineering blog, known to repeat.
CREATE SCHEMA classic;
CREATE SEQUENCE classic.table_id_seq;
CREATE FUNCTION classic.next_id(OUT result bigint) AS $$
DECLARE
    our_epoch bigint := 1314220021721;
    seq_id bigint;
    now_millis bigint;
    shard_id int := 5;
BEGIN
    SELECT nextval('classic.table_id_seq') % 1024 INTO seq_id;
    SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) INTO now_millis;
    result := (now_millis - our_epoch) << 23;
    result := result | (shard_id << 10);
    result := result | (seq_id);
END;
$$ LANGUAGE plpgsql;

-- Now and then the last id of the session once more.
CREATE SCHEMA planted;
CREATE FUNCTION planted.next_id() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(CASE WHEN random() < 0.0001 THEN last_id() END, next_id(5));
$$;
