-- shardid 0.1.0: unique, time-ordered 64-bit ids inside the database
--
-- Rooms: layouts; what this database knows of shards; taking ids; making and
-- dropping shards; reading ids; time ranges; other faces of an id; clusters;
-- views and what reads them; privileges. A released file is frozen: changes go into the next
-- version's upgrade script.

-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION shardid" to load this file. \quit

CREATE SCHEMA shardid;
COMMENT ON SCHEMA shardid IS 'tables and views of the extension shardid';

-- ---------------------------------------------------------------------------
-- layouts
-- ---------------------------------------------------------------------------

CREATE FUNCTION shardid.layout_ticks(
    epoch timestamptz, tick interval, shards bigint, slots bigint, ticks bigint
) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'layout_ticks_wrapper';
COMMENT ON FUNCTION shardid.layout_ticks(timestamptz, interval, bigint, bigint, bigint) IS
    'how many ticks a layout of these parts has; refuses what is no layout';

-- Text keys are COLLATE "C": the library looks them up by index, see page/catalog.rs.
CREATE TABLE shardid.layout (
    name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
    epoch timestamptz NOT NULL,
    tick interval NOT NULL,
    ticks bigint NOT NULL,
    shards bigint NOT NULL,
    slots bigint NOT NULL,
    -- Raises its own error where the parts do not fit a positive bigint.
    CHECK (shardid.layout_ticks(epoch, tick, shards, slots, ticks) = ticks)
);
COMMENT ON TABLE shardid.layout IS
    'how an id is put together: (time × shards + shard) × slots + slot; add one with create_layout()';
COMMENT ON COLUMN shardid.layout.epoch IS 'the instant of tick 0';
COMMENT ON COLUMN shardid.layout.tick IS 'unit of time';
COMMENT ON COLUMN shardid.layout.ticks IS 'how many ticks there are; after them the layout has ended';
COMMENT ON COLUMN shardid.layout.shards IS 'how many logical shards there may be';
COMMENT ON COLUMN shardid.layout.slots IS 'how many ids a shard has in one tick';

INSERT INTO shardid.layout (name, epoch, tick, ticks, shards, slots) VALUES
    ('instagram', '2026-01-01 00:00:00+00', '1 ms', 1099511627776, 8192, 1024),
    ('snowflake', '2010-11-04 01:42:54.657+00', '1 ms', 2199023255552, 1024, 4096),
    ('uidgenerator', '2016-09-20 00:00:00+08', '1 s', 536870912, 2097152, 8192),
    ('log32', '1970-01-01 00:00:00+00', '1 s', 2147483648, 1024, 4194304),
    ('log32_2020', '2020-01-01 00:00:00+00', '1 s', 2147483648, 1024, 4194304),
    ('decimal19', '1970-01-01 00:00:00+00', '1 s', 9223372036, 100, 10000000),
    ('js53', '2026-01-01 00:00:00+00', '1 s', 4294967296, 256, 8192);

CREATE FUNCTION shardid.layout_end(epoch timestamptz, tick interval, ticks bigint)
RETURNS timestamptz
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
-- An interval holds 292,000 years: what lasts longer has no end worth naming.
-- Nothing is tried and caught here, since parallel queries have no subtransactions.
RETURN CASE WHEN EXTRACT(epoch FROM tick) * ticks < 9.2233e12 THEN epoch + tick * ticks ELSE 'infinity' END;
COMMENT ON FUNCTION shardid.layout_end(timestamptz, interval, bigint) IS
    'the first instant that no id of such a layout can have';

CREATE FUNCTION create_layout(
    name text, epoch timestamptz, tick interval, shards bigint, slots bigint,
    ticks bigint DEFAULT NULL
) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fitting bigint;
    ends timestamptz;
BEGIN
    IF name IS NULL OR name = '' OR epoch IS NULL OR tick IS NULL OR shards IS NULL OR slots IS NULL THEN
        RAISE EXCEPTION 'a layout needs a name, an epoch, a tick, shards and slots'
            USING ERRCODE = '22004', HINT = 'SELECT create_layout(''mine'', ''2026-01-01Z'', ''1 ms'', 8192, 1024);';
    END IF;
    fitting := shardid.layout_ticks(epoch, tick, shards, slots, ticks);
    ends := shardid.layout_end(epoch, tick, fitting);
    IF ends <= clock_timestamp() THEN
        RAISE EXCEPTION 'layout "%" has already ended, at %', name, ends
            USING ERRCODE = '22023',
                DETAIL = format('%s ticks of %s fit after %s.', fitting, tick, epoch),
                HINT = 'Choose a later epoch, a longer tick, or fewer shards and slots.';
    END IF;
    IF ends < clock_timestamp() + interval '1 year' THEN
        RAISE WARNING 'layout "%" ends in less than a year, at %', name, ends;
    END IF;
    INSERT INTO shardid.layout VALUES (name, epoch, tick, fitting, shards, slots);
    RETURN ends;
EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION 'layout "%" exists already', name
            USING ERRCODE = '42710', HINT = 'SELECT * FROM shardid.layouts;';
END
$$;
COMMENT ON FUNCTION create_layout(text, timestamptz, interval, bigint, bigint, bigint) IS
    'add a layout: name, epoch, tick, how many shards, how many ids a tick; returns when it ends';

CREATE FUNCTION shardid.layout_is_frozen() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        RAISE EXCEPTION 'layouts are built in or may be in use, and cannot be truncated'
            USING ERRCODE = '55006', HINT = 'DELETE FROM shardid.layout WHERE name = …; where it is unused.';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN
        RETURN NEW;
    END IF;
    IF OLD.name IN ('instagram', 'snowflake', 'uidgenerator', 'log32', 'log32_2020', 'decimal19', 'js53') THEN
        RAISE EXCEPTION 'layout "%" is built in and cannot be changed', OLD.name
            USING ERRCODE = '55006', HINT = 'Add a layout of your own with create_layout().';
    END IF;
    IF EXISTS (SELECT FROM shardid.shard s WHERE s.layout = OLD.name)
        OR EXISTS (SELECT FROM shardid.id_sequence s WHERE s.layout = OLD.name)
    THEN
        RAISE EXCEPTION 'layout "%" is in use and cannot be changed', OLD.name
            USING ERRCODE = '55006',
                DETAIL = 'Ids that were made with it would be read wrongly.',
                HINT = 'Add another layout with create_layout().';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$;
COMMENT ON FUNCTION shardid.layout_is_frozen() IS 'refuses to change a layout that is built in or in use';

CREATE TRIGGER layout_is_frozen BEFORE UPDATE OR DELETE ON shardid.layout
    FOR EACH ROW EXECUTE FUNCTION shardid.layout_is_frozen();
CREATE TRIGGER layouts_are_frozen BEFORE TRUNCATE ON shardid.layout
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.layout_is_frozen();

-- ---------------------------------------------------------------------------
-- what this database knows of shards
-- ---------------------------------------------------------------------------

-- No foreign keys to shardid.layout: pg_restore -j loads these tables in any order.
CREATE TABLE shardid.shard (
    shard integer PRIMARY KEY CHECK (shard >= 0),
    layout text COLLATE "C" NOT NULL,
    sequence regclass,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'fenced', 'moved', 'dropped')),
    node text,
    map_version bigint,
    cluster text,
    system_identifier bigint,
    database text,
    floor bigint
);
COMMENT ON TABLE shardid.shard IS 'logical shards; made by create_shard(), read through shardid.shards';
COMMENT ON COLUMN shardid.shard.sequence IS 'the id generator; null where the shard lives on another node';
COMMENT ON COLUMN shardid.shard.state IS
    'open: gives ids here; fenced: takes no writes at the moment; moved: lives on another node; dropped: remembered so that its ids do not come again';
COMMENT ON COLUMN shardid.shard.node IS 'the node that holds the shard, in a cluster';
COMMENT ON COLUMN shardid.shard.map_version IS 'the version of the map that placed it there';
COMMENT ON COLUMN shardid.shard.cluster IS 'the cluster it belongs to, if any';
COMMENT ON COLUMN shardid.shard.system_identifier IS
    'the server that may give ids of a shard of a cluster: a copy restored elsewhere is refused';
COMMENT ON COLUMN shardid.shard.database IS 'the database that may';
COMMENT ON COLUMN shardid.shard.floor IS 'ids that were given out before it was dropped are not above this';

CREATE TABLE shardid.id_sequence (
    sequence regclass PRIMARY KEY,
    shard integer NOT NULL CHECK (shard >= 0),
    layout text COLLATE "C" NOT NULL
);
COMMENT ON TABLE shardid.id_sequence IS 'id generators of their own, made by create_id_sequence()';

CREATE TABLE shardid.cluster (
    name text NOT NULL,
    node text NOT NULL,
    layout text COLLATE "C" NOT NULL,
    shards integer NOT NULL,
    map_version bigint NOT NULL
);
CREATE UNIQUE INDEX cluster_is_one_row ON shardid.cluster ((true));
COMMENT ON TABLE shardid.cluster IS 'which node of which cluster this database is, and its version of the map; at most one row';

CREATE FUNCTION shardid.generator_changed() RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'generator_changed_wrapper';
COMMENT ON FUNCTION shardid.generator_changed() IS
    'waits until nobody takes ids from the row''s sequence, and has every session read the row again';

CREATE TRIGGER generator_changed AFTER INSERT OR UPDATE OR DELETE ON shardid.shard
    FOR EACH ROW EXECUTE FUNCTION shardid.generator_changed();
CREATE TRIGGER generator_changed AFTER INSERT OR UPDATE OR DELETE ON shardid.id_sequence
    FOR EACH ROW EXECUTE FUNCTION shardid.generator_changed();

-- An id sequence obeys the state of its shard.
CREATE FUNCTION shardid.shard_changed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'UPDATE'
        OR (NEW.state, NEW.system_identifier, NEW.database) IS DISTINCT FROM (OLD.state, OLD.system_identifier, OLD.database)
    THEN
        UPDATE shardid.id_sequence s SET shard = s.shard
        WHERE s.shard = CASE TG_OP WHEN 'DELETE' THEN OLD.shard ELSE NEW.shard END;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION shardid.shard_changed() IS 'has the id sequences of a shard follow its state';

CREATE TRIGGER shard_changed AFTER INSERT OR UPDATE OR DELETE ON shardid.shard
    FOR EACH ROW EXECUTE FUNCTION shardid.shard_changed();

-- A dump carries what users have made; the built-in layouts come with the extension.
SELECT pg_catalog.pg_extension_config_dump('shardid.layout',
    'WHERE name NOT IN (''instagram'', ''snowflake'', ''uidgenerator'', ''log32'', ''log32_2020'', ''decimal19'', ''js53'')');
SELECT pg_catalog.pg_extension_config_dump('shardid.shard', '');
SELECT pg_catalog.pg_extension_config_dump('shardid.id_sequence', '');
SELECT pg_catalog.pg_extension_config_dump('shardid.cluster', '');

-- ---------------------------------------------------------------------------
-- taking ids
-- ---------------------------------------------------------------------------

CREATE FUNCTION next_id(shard integer) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'shardid_next_id';
COMMENT ON FUNCTION next_id(integer) IS 'a new id on that shard';

CREATE FUNCTION next_id() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'shardid_next_id_here';
COMMENT ON FUNCTION next_id() IS 'a new id on the shard in shardid.shard, or on the only shard there is';

CREATE FUNCTION next_id_from(sequence regclass) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'shardid_next_id_from';
COMMENT ON FUNCTION next_id_from(regclass) IS 'a new id from a sequence made by create_id_sequence()';

CREATE FUNCTION next_ids(shard integer, count integer) RETURNS SETOF bigint
LANGUAGE c VOLATILE STRICT PARALLEL SAFE ROWS 1000 AS 'MODULE_PATHNAME', 'shardid_next_ids';
COMMENT ON FUNCTION next_ids(integer, integer) IS 'that many new ids on that shard, rising';

CREATE FUNCTION last_id() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'last_id_wrapper';
COMMENT ON FUNCTION last_id() IS 'the last id this session got';

-- ---------------------------------------------------------------------------
-- making and dropping shards
-- ---------------------------------------------------------------------------

CREATE FUNCTION shardid.first_id(shard bigint, layout text, floor bigint, drift boolean)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'first_id_wrapper';
COMMENT ON FUNCTION shardid.first_id(bigint, text, bigint, boolean) IS
    'the first id of a new generator: now and above floor; with drift, above what may have been given out unseen';

CREATE FUNCTION shardid.layout_of(shard integer, layout text) RETURNS shardid.layout
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule shardid.layout;
BEGIN
    SELECT * INTO rule FROM shardid.layout l WHERE l.name = layout_of.layout;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'layout "%" does not exist', layout
            USING ERRCODE = '42704', HINT = 'SELECT name FROM shardid.layouts; create_layout() adds one.';
    END IF;
    IF shard IS NULL OR shard < 0 OR shard >= rule.shards THEN
        RAISE EXCEPTION 'shard % is out of range for layout "%"', coalesce(shard::text, 'null'), layout
            USING ERRCODE = '22003', DETAIL = format('Its shards are 0 to %s.', rule.shards - 1),
                HINT = 'SELECT name, shards FROM shardid.layouts;';
    END IF;
    RETURN rule;
END
$$;
COMMENT ON FUNCTION shardid.layout_of(integer, text) IS 'the layout of that name, which has room for that shard, or an error';

CREATE FUNCTION shardid.create_generator(
    schema name, name name, shard integer, layout text, floor bigint, drift boolean
) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule shardid.layout := shardid.layout_of(shard, layout);
    first bigint := shardid.first_id(shard, layout, floor, drift);
    path text := format('%I.%I', schema, name);
    present pg_sequence;
    known record;
BEGIN
    IF to_regclass(path) IS NULL THEN
        EXECUTE format('CREATE SEQUENCE %s AS bigint INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE 1 NO CYCLE',
            path, rule.shards * rule.slots, shard * rule.slots,
            -- In this order: the last shard's last id may be the largest bigint there is.
            ((rule.ticks - 1) * rule.shards + shard) * rule.slots + (rule.slots - 1), first);
        -- From now on it has been called. One that has not been is one that
        -- somebody restarted, and next_id() then stays clear of its old ids.
        PERFORM setval(path, first);
    ELSE
        SELECT * INTO present FROM pg_sequence s WHERE s.seqrelid = to_regclass(path);
        IF present.seqincrement IS DISTINCT FROM rule.shards * rule.slots OR present.seqmin <> shard * rule.slots THEN
            RAISE EXCEPTION 'relation % exists already and is not an id sequence of shard % with layout "%"', path, shard, layout
                USING ERRCODE = '42P07', HINT = 'Choose another schema or name, or rename what is there: ALTER … RENAME TO …;';
        END IF;
        -- Its generator from before, left by an extension that was dropped: go on above it.
        -- This keeps everybody else away from it until the transaction ends.
        EXECUTE format('ALTER SEQUENCE %s NO CYCLE', path);
        EXECUTE format('SELECT last_value, is_called FROM %s', path) INTO known;
        IF known.is_called AND (floor IS NOT NULL OR drift) THEN
            PERFORM setval(path, greatest(known.last_value, first));
        END IF;
    END IF;
    IF shardid.layout_end(rule.epoch, rule.tick, rule.ticks) < clock_timestamp() + interval '1 year' THEN
        RAISE WARNING 'layout "%" ends in less than a year, at %', layout,
            shardid.layout_end(rule.epoch, rule.tick, rule.ticks)
            USING HINT = 'SELECT name, ends_at FROM shardid.layouts; lists layouts that last longer.';
    END IF;
    RETURN path::regclass;
END
$$;
COMMENT ON FUNCTION shardid.create_generator(name, name, integer, text, bigint, boolean) IS
    'makes the sequence behind a shard or an id sequence; its increment is one whole tick';

CREATE FUNCTION shardid.next_id_functions(shard integer) RETURNS SETOF regprocedure
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT p.oid::regprocedure FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
    WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_proc'::regclass
        AND d.refobjid = '@extschema@.next_id(integer)'::regprocedure
        AND p.proname = 'next_id' AND p.pronargs = 0
        AND pg_get_function_sqlbody(p.oid) ~ format('\mnext_id\(%s\)', shard)
$$;
COMMENT ON FUNCTION shardid.next_id_functions(integer) IS 'the functions next_id() that create_shard() has made for a shard';

CREATE FUNCTION create_shard(
    shard integer, schema name DEFAULT NULL, layout text DEFAULT 'instagram'
) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule shardid.layout := shardid.layout_of(shard, layout);
    known shardid.shard;
    path name := coalesce(schema, 'shard_' || lpad(shard::text, greatest(4, length(shard::text)), '0'));
    generator regclass;
    lost boolean;
BEGIN
    -- Two sessions that make one shard: the second waits here, and then sees the first one's.
    PERFORM pg_advisory_xact_lock(hashtext('shardid.create_shard'), shard);
    SELECT * INTO known FROM shardid.shard s WHERE s.shard = create_shard.shard FOR UPDATE;
    -- Its sequence went with its schema: where it stood is not known.
    lost := known.sequence IS NOT NULL
        AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = known.sequence AND c.relkind = 'S');
    IF known.shard IS NOT NULL AND known.state <> 'dropped' AND NOT lost THEN
        RAISE EXCEPTION 'shard % exists already', shard
            USING ERRCODE = '42710',
                DETAIL = CASE WHEN known.state = 'moved' THEN format('It lives on node "%s".', known.node)
                    ELSE format('Its sequence is %s.', known.sequence) END,
                HINT = 'SELECT * FROM shardid.shards;';
    END IF;
    IF known.layout <> layout AND known.floor > shardid.first_id(shard, layout, NULL, false) THEN
        RAISE EXCEPTION 'shard % had ids of layout "%" that are far above those of layout "%"', shard, known.layout, layout
            USING ERRCODE = '55000', DETAIL = format('The last one was %s, and no id comes again.', known.floor),
                HINT = format('SELECT create_shard(%s, layout => %L); or take another number.', shard, known.layout);
    END IF;
    -- The map of a cluster would not know it, and another node might make it too.
    IF EXISTS (SELECT FROM shardid.cluster c WHERE c.shards <= create_shard.shard) THEN
        RAISE EXCEPTION 'shard % is not one of the cluster that this node is in', shard
            USING ERRCODE = '55000', DETAIL = (SELECT format('Cluster "%s" has shards 0 to %s.', c.name, c.shards - 1) FROM shardid.cluster c),
                HINT = 'SELECT * FROM shardid.cluster; a database of its own can have shards of its own.';
    END IF;
    -- A next_id() that is not ours, and the extension's own, must not be replaced.
    IF EXISTS (SELECT FROM pg_proc p
        WHERE p.pronamespace = to_regnamespace(quote_ident(path)) AND p.proname = 'next_id' AND p.pronargs = 0
            AND NOT EXISTS (SELECT FROM shardid.next_id_functions(shard) f WHERE f = p.oid))
    THEN
        RAISE EXCEPTION 'schema "%" has a function next_id() of its own', path
            USING ERRCODE = '42723',
                HINT = format('SELECT create_shard(%s, ''another schema''); or rename it: ALTER FUNCTION %I.next_id() RENAME TO next_id_before;', shard, path);
    END IF;
    IF to_regnamespace(quote_ident(path)) IS NULL THEN
        EXECUTE format('CREATE SCHEMA %I', path);
    END IF;
    generator := shardid.create_generator(path, 'shard_id_seq', shard, layout, known.floor, coalesce(lost, false));
    EXECUTE format('COMMENT ON SEQUENCE %s IS %L', generator,
        format('id generator of shard %s (layout %s): use next_id(%s)', shard, layout, shard));
    EXECUTE format('CREATE OR REPLACE FUNCTION %I.next_id() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE RETURN %s.next_id(%s)',
        path, '@extschema@', shard);
    EXECUTE format('COMMENT ON FUNCTION %I.next_id() IS %L', path, format('a new id on shard %s', shard));
    INSERT INTO shardid.shard AS s (shard, layout, sequence) VALUES (shard, layout, generator)
        ON CONFLICT ON CONSTRAINT shard_pkey DO UPDATE
        SET layout = EXCLUDED.layout, sequence = EXCLUDED.sequence, state = 'open', node = NULL,
            map_version = NULL, cluster = NULL, system_identifier = NULL, database = NULL;
    RETURN generator;
END
$$;
COMMENT ON FUNCTION create_shard(integer, name, text) IS
    'make a shard: its schema if absent, the sequence shard_id_seq and the function next_id() in it; returns the sequence';

CREATE FUNCTION drop_shard(shard integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.shard;
    made regprocedure[];
    last bigint;
    used text;
BEGIN
    SELECT * INTO known FROM shardid.shard s
        WHERE s.shard = drop_shard.shard AND s.state <> 'dropped' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'shard % does not exist in this database', coalesce(shard::text, 'null')
            USING ERRCODE = '42704', HINT = 'SELECT * FROM shardid.shards;';
    END IF;
    IF known.cluster IS NOT NULL THEN
        RAISE EXCEPTION 'shard % belongs to cluster "%"', shard, known.cluster
            USING ERRCODE = '55006', HINT = 'The cluster''s shards are fixed; shardid move takes one elsewhere.';
    END IF;
    made := ARRAY(SELECT f FROM shardid.next_id_functions(shard) f);
    SELECT string_agg(DISTINCT format('%s.%I', d.adrelid::regclass, a.attname), ', ') INTO used
        FROM pg_attrdef d
        JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        JOIN pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
        WHERE CASE p.refclassid
            WHEN 'pg_class'::regclass THEN p.refobjid = known.sequence
            WHEN 'pg_proc'::regclass THEN p.refobjid = ANY (made::oid[])
                OR p.refobjid = '@extschema@.next_id(integer)'::regprocedure
                    AND pg_get_expr(d.adbin, d.adrelid) ~ format('\mnext_id\(%s\)', shard)
            END;
    IF used IS NOT NULL THEN
        RAISE EXCEPTION 'shard % cannot be dropped because defaults use it', shard
            USING ERRCODE = '2BP01', DETAIL = format('Columns: %s.', used),
                HINT = 'ALTER TABLE … ALTER COLUMN … DROP DEFAULT; first.';
    END IF;
    SELECT string_agg(DISTINCT s.sequence::text, ', ') INTO used
        FROM shardid.id_sequence s JOIN pg_class c ON c.oid = s.sequence
        WHERE s.shard = drop_shard.shard;
    IF used IS NOT NULL THEN
        RAISE EXCEPTION 'shard % cannot be dropped because id sequences belong to it', shard
            USING ERRCODE = '2BP01', DETAIL = format('Sequences: %s.', used), HINT = 'DROP SEQUENCE …; first.';
    END IF;
    -- The trigger on this row waits until nobody takes ids from the sequence any more.
    UPDATE shardid.shard s SET state = 'dropped' WHERE s.shard = drop_shard.shard;
    FOR i IN 1 .. cardinality(made) LOOP
        EXECUTE format('DROP FUNCTION %s', made[i]);
    END LOOP;
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known.sequence AND c.relkind = 'S') THEN
        EXECUTE format('SELECT last_value FROM %s', known.sequence) INTO last;
        EXECUTE format('DROP SEQUENCE %s', known.sequence);
    ELSIF known.sequence IS NOT NULL THEN
        last := shardid.first_id(shard, known.layout, known.floor, true);
    END IF;
    UPDATE shardid.shard s SET sequence = NULL, floor = greatest(known.floor, last)
        WHERE s.shard = drop_shard.shard;
END
$$;
COMMENT ON FUNCTION drop_shard(integer) IS
    'forget a shard and drop its sequence; its schema and tables stay, and its ids never come again';

CREATE FUNCTION create_id_sequence(name text, shard integer, layout text DEFAULT 'instagram')
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
-- No search_path here: the name is looked up where the caller would have it made.
DECLARE
    parts text[] := pg_catalog.parse_ident(name);
    generator regclass;
    known shardid.id_sequence;
BEGIN
    IF pg_catalog.cardinality(parts) OPERATOR(pg_catalog.=) 1 THEN
        parts := pg_catalog.array_prepend(pg_catalog.current_schema()::text, parts);
    END IF;
    IF pg_catalog.cardinality(parts) OPERATOR(pg_catalog.<>) 2 OR parts[1] IS NULL THEN
        RAISE EXCEPTION '"%" is not the name of a sequence', name
            USING ERRCODE = '42602', HINT = 'Give a name, or schema.name.';
    END IF;
    generator := shardid.create_generator(parts[1], parts[2], shard, layout, NULL, false);
    SELECT * INTO known FROM shardid.id_sequence s WHERE s.sequence OPERATOR(pg_catalog.=) generator;
    IF FOUND THEN
        RAISE EXCEPTION 'id sequence % exists already', generator
            USING ERRCODE = '42710', HINT = 'SELECT * FROM shardid.id_sequence;';
    END IF;
    INSERT INTO shardid.id_sequence VALUES (generator, shard, layout);
    RETURN generator;
END
$$;
COMMENT ON FUNCTION create_id_sequence(text, integer, text) IS
    'make an id generator of its own, for one table: sequence name, shard, layout; ids by next_id_from()';

-- ---------------------------------------------------------------------------
-- reading ids
-- ---------------------------------------------------------------------------

CREATE FUNCTION id_time(id bigint) RETURNS timestamptz
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_time_wrapper';
COMMENT ON FUNCTION id_time(bigint) IS 'when an id was made, to the tick';

CREATE FUNCTION id_time(id bigint, layout text) RETURNS timestamptz
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_time_in_wrapper';
COMMENT ON FUNCTION id_time(bigint, text) IS 'when an id of that layout was made, to the tick';

CREATE FUNCTION id_shard(id bigint) RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_shard_wrapper';
COMMENT ON FUNCTION id_shard(bigint) IS 'the shard an id was made on';

CREATE FUNCTION id_shard(id bigint, layout text) RETURNS integer
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_shard_in_wrapper';
COMMENT ON FUNCTION id_shard(bigint, text) IS 'the shard an id of that layout was made on';

CREATE FUNCTION id_slot(id bigint) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_slot_wrapper';
COMMENT ON FUNCTION id_slot(bigint) IS 'the number of an id within its shard and tick';

CREATE FUNCTION id_slot(id bigint, layout text) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_slot_in_wrapper';
COMMENT ON FUNCTION id_slot(bigint, text) IS 'the number of an id of that layout within its shard and tick';

CREATE FUNCTION id_parts(id bigint, OUT "time" timestamptz, OUT shard integer, OUT slot bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN (@extschema@.id_time(id), @extschema@.id_shard(id), @extschema@.id_slot(id));
COMMENT ON FUNCTION id_parts(bigint) IS 'time, shard and slot of an id';

CREATE FUNCTION id_parts(id bigint, layout text, OUT "time" timestamptz, OUT shard integer, OUT slot bigint)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN (@extschema@.id_time(id, layout), @extschema@.id_shard(id, layout), @extschema@.id_slot(id, layout));
COMMENT ON FUNCTION id_parts(bigint, text) IS 'time, shard and slot of an id of that layout';

-- ---------------------------------------------------------------------------
-- time ranges
-- ---------------------------------------------------------------------------

CREATE FUNCTION id_at("time" timestamptz) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_at_wrapper';
COMMENT ON FUNCTION id_at(timestamptz) IS 'the lowest id of that instant: WHERE id >= id_at(now() - interval ''1 day'')';

CREATE FUNCTION id_at("time" timestamptz, layout text) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_at_in_wrapper';
COMMENT ON FUNCTION id_at(timestamptz, text) IS 'the lowest id of that instant in that layout';

CREATE FUNCTION create_id_partitions(
    parent regclass, "from" timestamptz, until timestamptz, every interval,
    layout text DEFAULT 'instagram'
) RETURNS SETOF regclass
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schema name;
    base name;
    part text;
    lower timestamptz := "from";
    upper timestamptz;
    first bigint;
    beyond bigint;
    step int := 0;
    -- Days and months are those of the session's TimeZone, as in "from" + every.
    -- Anything shorter is named in UTC: where summer time ends, an hour comes twice.
    days boolean := every = date_trunc('day', every);
    pattern text := CASE
        WHEN days THEN 'YYYYMMDD'
        WHEN every >= interval '1 minute' THEN 'YYYYMMDD_HH24MI"z"'
        ELSE 'YYYYMMDD_HH24MISS_US"z"'
    END;
BEGIN
    SELECT n.nspname, c.relname INTO schema, base FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_partitioned_table p ON p.partrelid = c.oid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
        WHERE c.oid = parent AND p.partstrat = 'r' AND p.partnatts = 1 AND a.atttypid = 'bigint'::regtype;
    IF NOT FOUND THEN
        RAISE EXCEPTION '% is not partitioned by range of one bigint column', parent
            USING ERRCODE = '42809', HINT = 'CREATE TABLE … (id bigint …) PARTITION BY RANGE (id);';
    END IF;
    IF NOT isfinite("from") OR NOT isfinite(until) THEN
        RAISE EXCEPTION 'partitions from % to % would never end', "from", until USING ERRCODE = '22008',
            HINT = 'Give two instants, such as ''2026-01-01'' and ''2027-01-01''.';
    END IF;
    IF "from" >= until THEN
        RAISE EXCEPTION 'no time lies between % and %', "from", until
            USING ERRCODE = '22023', HINT = 'The second instant is the end: it must be later than the first.';
    END IF;
    IF "from" + every <= "from" THEN
        RAISE EXCEPTION 'partitions must be longer than %', every
            USING ERRCODE = '22023', HINT = 'Use interval ''1 day'' or ''1 month''.';
    END IF;
    WHILE lower < until LOOP
        step := step + 1;
        -- From the start each time: the 31st would otherwise creep to the 28th.
        upper := "from" + every * step::double precision;
        first := @extschema@.id_at(lower, layout);
        beyond := @extschema@.id_at(upper, layout);
        IF first >= beyond THEN
            RAISE EXCEPTION 'layout "%" has no ids between % and %', layout, lower, upper
                USING ERRCODE = '22003', HINT = 'Begin after its epoch, and with at least one tick: SELECT name, epoch, tick FROM shardid.layouts;';
        END IF;
        part := concat(base, '_p', to_char(CASE WHEN days THEN lower::timestamp ELSE lower AT TIME ZONE 'UTC' END, pattern));
        IF octet_length(part) > 63 THEN
            RAISE EXCEPTION 'a partition''s name would be too long: %', part
                USING ERRCODE = '42622', DETAIL = 'Names have at most 63 bytes.', HINT = format('ALTER TABLE %s RENAME TO …;', parent);
        END IF;
        part := format('%I.%I', schema, part);
        IF to_regclass(part) IS NULL THEN
            EXECUTE format('CREATE TABLE %s PARTITION OF %s FOR VALUES FROM (%s) TO (%s)', part, parent, first, beyond);
            RETURN NEXT part::regclass;
        ELSIF NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = parent AND c.oid = to_regclass(part)
                AND pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES FROM (%L) TO (%L)', first, beyond))
        THEN
            RAISE EXCEPTION 'relation % exists already and does not hold the ids from % to %', part, lower, upper
                USING ERRCODE = '42P07', DETAIL = format('As a partition of %s it would be FOR VALUES FROM (%s) TO (%s).', parent, first, beyond),
                    HINT = 'Begin where a partition begins, as date_trunc(''day'', now()) does, and keep to one length.';
        END IF;
        lower := upper;
    END LOOP;
END
$$;
COMMENT ON FUNCTION create_id_partitions(regclass, timestamptz, timestamptz, interval, text) IS
    'make RANGE partitions of a table by the time in its ids; those that exist are skipped; returns the new ones';

-- ---------------------------------------------------------------------------
-- other faces of an id
-- ---------------------------------------------------------------------------

CREATE FUNCTION id_text(id bigint) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_text_wrapper';
COMMENT ON FUNCTION id_text(bigint) IS 'an id as 13 characters of Crockford base 32, which sort like the number';

CREATE FUNCTION id_from_text(text text) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_from_text_wrapper';
COMMENT ON FUNCTION id_from_text(text) IS 'the id of a text made by id_text()';

CREATE FUNCTION conceal_id(id bigint, key bytea) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'conceal_id_wrapper';
COMMENT ON FUNCTION conceal_id(bigint, bytea) IS
    'a keyed one-to-one scrambling of an id, for outsiders who must not count; key: 16 random bytes or more';

CREATE FUNCTION reveal_id(id bigint, key bytea) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'reveal_id_wrapper';
COMMENT ON FUNCTION reveal_id(bigint, bytea) IS 'the id that conceal_id() has scrambled with that key';

-- ---------------------------------------------------------------------------
-- clusters
-- ---------------------------------------------------------------------------

CREATE FUNCTION adopt_shard(shard integer) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE shardid.shard s
        SET system_identifier = (SELECT c.system_identifier FROM pg_control_system() c),
            database = current_database()
        WHERE s.shard = adopt_shard.shard AND s.cluster IS NOT NULL AND s.sequence IS NOT NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'shard % is not a shard of a cluster that has its sequence here', shard
            USING ERRCODE = '42704', HINT = 'SELECT * FROM shardid.shards;';
    END IF;
END
$$;
COMMENT ON FUNCTION adopt_shard(integer) IS
    'let this copy of a cluster''s shard give ids: only when the server it was copied from is gone for good';

CREATE FUNCTION shardid.place_shards(
    cluster text, node text, layout text, shards integer, map_version bigint,
    placed integer[], nodes text[]
) RETURNS integer
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    system bigint := (SELECT c.system_identifier FROM pg_control_system() c);
    wrong text;
    known shardid.cluster;
    changed integer;
    total integer := 0;
BEGIN
    PERFORM shardid.layout_of(shards - 1, layout);
    IF cardinality(placed) <> cardinality(nodes) THEN
        RAISE EXCEPTION '% shards but % nodes', cardinality(placed), cardinality(nodes)
            USING ERRCODE = '22023';
    END IF;
    SELECT c.* INTO known FROM shardid.cluster c;
    IF known.name <> cluster OR known.node <> node OR known.layout <> layout OR known.shards <> shards THEN
        RAISE EXCEPTION 'this database is node "%" of cluster "%" (% shards, layout "%")',
                known.node, known.name, known.shards, known.layout
            USING ERRCODE = '55000',
                DETAIL = format('It was asked to be node "%s" of cluster "%s" (%s shards, layout "%s").', node, cluster, shards, layout),
                HINT = 'Name the node in shardid.toml as it is, or use another database.';
    END IF;
    IF known.map_version > map_version THEN
        RAISE EXCEPTION 'the map here has version %, newer than %', known.map_version, map_version
            USING ERRCODE = '55000', HINT = 'Read the map again: shardid map';
    END IF;
    SELECT string_agg(m.shard::text, ', ' ORDER BY m.shard) INTO wrong
        FROM unnest(placed, nodes) AS m(shard, node)
        LEFT JOIN shardid.shard s ON s.shard = m.shard
        WHERE m.node = node AND (s.sequence IS NULL OR s.state NOT IN ('open', 'fenced') OR s.layout <> layout);
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'shards are placed here that do not exist here with layout "%"', layout
            USING ERRCODE = '55000', DETAIL = format('Shards: %s.', wrong), HINT = 'create_shard() makes them.';
    END IF;
    SELECT string_agg(m.shard::text, ', ' ORDER BY m.shard) INTO wrong
        FROM unnest(placed, nodes) AS m(shard, node)
        JOIN shardid.shard s ON s.shard = m.shard
        WHERE m.node <> node AND s.state IN ('open', 'fenced');
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'shards are placed elsewhere that are open here'
            USING ERRCODE = '55000', DETAIL = format('Shards: %s.', wrong), HINT = 'shardid move takes a shard to another node.';
    END IF;

    INSERT INTO shardid.cluster AS c VALUES (cluster, node, layout, shards, map_version)
        ON CONFLICT ((true)) DO UPDATE SET map_version = EXCLUDED.map_version
        WHERE c.map_version <> EXCLUDED.map_version;
    GET DIAGNOSTICS changed = ROW_COUNT;
    total := total + changed;
    UPDATE shardid.shard s
        SET cluster = cluster, node = node, map_version = map_version,
            system_identifier = system, database = current_database()
        FROM unnest(placed, nodes) AS m(shard, node)
        WHERE s.shard = m.shard AND m.node = node
            AND (s.cluster, s.node, s.system_identifier, s.database)
                IS DISTINCT FROM (cluster, node, system, current_database()::text);
    GET DIAGNOSTICS changed = ROW_COUNT;
    total := total + changed;
    INSERT INTO shardid.shard AS s (shard, layout, state, cluster, node, map_version)
        SELECT m.shard, layout, 'moved', cluster, m.node, map_version
        FROM unnest(placed, nodes) AS m(shard, node)
        WHERE m.node <> node
        ON CONFLICT ON CONSTRAINT shard_pkey DO UPDATE
        SET layout = EXCLUDED.layout, state = 'moved', cluster = EXCLUDED.cluster,
            node = EXCLUDED.node, map_version = EXCLUDED.map_version
        WHERE (s.state, s.cluster, s.node) IS DISTINCT FROM ('moved', EXCLUDED.cluster, EXCLUDED.node);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN total + changed;
END
$$;
COMMENT ON FUNCTION shardid.place_shards(text, text, text, integer, bigint, integer[], text[]) IS
    'make this database a node of a cluster and keep its copy of the map: shards placed here are stamped, others say where they live; used by the program shardid';

CREATE FUNCTION shardid.refuse_write() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.shard;
BEGIN
    -- The trigger is there, so the write is refused in any case; the row only says why.
    SELECT * INTO known FROM shardid.shard s WHERE s.shard = TG_ARGV[0]::integer;
    IF known.state = 'moved' THEN
        RAISE EXCEPTION 'shard % lives on node "%", not on this one', known.shard, known.node
            USING ERRCODE = 'SI001',
                DETAIL = format('%s is the old copy; the map says so since version %s.', TG_RELID::regclass, known.map_version),
                HINT = format('Connect to node "%s", or read the map again: shardid map', known.node);
    END IF;
    RAISE EXCEPTION 'shard % is fenced: it takes no writes while it is moved', TG_ARGV[0]
        USING ERRCODE = 'SI002', DETAIL = format('%s belongs to it.', TG_RELID::regclass),
            HINT = 'Try again in a moment; shardid moves shows the move.';
END
$$;
COMMENT ON FUNCTION shardid.refuse_write() IS
    'refuses writes to a table of a shard that is fenced (SI002) or lives elsewhere (SI001); argument: the shard';

-- ---------------------------------------------------------------------------
-- views and what reads them
-- ---------------------------------------------------------------------------

CREATE VIEW shardid.layouts AS
    SELECT l.name, l.epoch, l.tick, l.ticks, l.shards, l.slots, e.ends_at,
        CASE WHEN pg_catalog.isfinite(e.ends_at)
            THEN pg_catalog.floor(EXTRACT(epoch FROM e.ends_at - pg_catalog.statement_timestamp()) / 86400)::bigint
        END AS days_left
    FROM shardid.layout l
    CROSS JOIN LATERAL (SELECT shardid.layout_end(l.epoch, l.tick, l.ticks)) AS e(ends_at);
COMMENT ON VIEW shardid.layouts IS 'layouts, when they end, and how many days are left';

CREATE FUNCTION id_explain(id bigint)
RETURNS TABLE (layout text, "time" timestamptz, shard integer, slot bigint, age interval, note text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.name, p."time", p.shard, p.slot,
        date_trunc('milliseconds', statement_timestamp() - p."time"),
        concat_ws('; ',
            CASE
                WHEN s.state = 'moved' THEN format('shard %s lives on node "%s"', s.shard, s.node)
                WHEN s.state = 'dropped' THEN format('shard %s was dropped', s.shard)
                WHEN s.shard IS NOT NULL THEN format('shard %s of this database', s.shard)
            END,
            CASE WHEN p."time" > statement_timestamp() THEN 'ahead of the clock' END)
    FROM shardid.layouts l
    CROSS JOIN LATERAL @extschema@.id_parts(id, l.name) p
    LEFT JOIN shardid.shard s ON s.layout = l.name AND s.shard = p.shard
    WHERE id BETWEEN 0 AND ((l.ticks - 1)::numeric * l.shards + l.shards - 1) * l.slots + l.slots - 1
        -- An id from the epoch's first day, or from after tomorrow, is not one of this layout.
        AND p."time" BETWEEN l.epoch + interval '1 day' AND statement_timestamp() + interval '1 day'
    ORDER BY s.shard IS NULL, s.state <> 'open', l.name
$$;
COMMENT ON FUNCTION id_explain(bigint) IS
    'an id as every layout reads it in which it makes sense, the likeliest first; for a person at a prompt';

CREATE VIEW shardid.shards AS
    SELECT s.shard, n.nspname AS schema, s.sequence, s.layout, s.state, s.node,
        i.last_id, t.last_time,
        CASE WHEN t.last_time > pg_catalog.clock_timestamp()
            THEN t.last_time - pg_catalog.clock_timestamp() ELSE interval '0' END AS drift
    FROM shardid.shard s
    LEFT JOIN pg_catalog.pg_class c ON c.oid = s.sequence
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.sequence
    CROSS JOIN LATERAL (
        SELECT CASE WHEN pg_catalog.has_sequence_privilege(c.oid, 'USAGE, SELECT')
            -- Where it starts, nobody was given anything: see shardid.create_generator.
            THEN nullif(pg_catalog.pg_sequence_last_value(c.oid::regclass), q.seqstart) END
    ) AS i(last_id)
    CROSS JOIN LATERAL (SELECT @extschema@.id_time(i.last_id, s.layout)) AS t(last_time)
    WHERE s.state <> 'dropped';
COMMENT ON VIEW shardid.shards IS
    'shards: where they are, their state, the last id handed out, its time, and how far that is ahead of the clock';

-- ---------------------------------------------------------------------------
-- privileges
-- ---------------------------------------------------------------------------

-- Everybody may look and decode; taking ids needs USAGE on the sequence, as
-- nextval does. What changes the estate is for the extension's owner, and for
-- those the owner grants it to (see docs/privileges.md).
GRANT USAGE ON SCHEMA shardid TO PUBLIC;
GRANT SELECT ON shardid.layout, shardid.shard, shardid.id_sequence, shardid.cluster,
    shardid.layouts, shardid.shards TO PUBLIC;
REVOKE EXECUTE ON FUNCTION
    create_layout(text, timestamptz, interval, bigint, bigint, bigint),
    create_shard(integer, name, text),
    drop_shard(integer),
    create_id_sequence(text, integer, text),
    adopt_shard(integer),
    shardid.create_generator(name, name, integer, text, bigint, boolean),
    shardid.place_shards(text, text, text, integer, bigint, integer[], text[])
    FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA shardid TO @extowner@ WITH GRANT OPTION;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    shardid.layout, shardid.shard, shardid.id_sequence, shardid.cluster
    TO @extowner@ WITH GRANT OPTION;
GRANT EXECUTE ON FUNCTION
    create_layout(text, timestamptz, interval, bigint, bigint, bigint),
    create_shard(integer, name, text),
    drop_shard(integer),
    create_id_sequence(text, integer, text),
    adopt_shard(integer),
    shardid.create_generator(name, name, integer, text, bigint, boolean),
    shardid.place_shards(text, text, text, integer, bigint, integer[], text[])
    TO @extowner@ WITH GRANT OPTION;
