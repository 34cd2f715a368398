-- shardid 0.2.0: unique, time-ordered 64-bit ids inside the database
--
-- Rooms: layouts; what this database knows of shards; how far ids may reach; taking ids; making and
-- dropping shards; reading ids; time ranges; other faces of an id; which shard
-- a key belongs to; tickets; segments; what comes by replication; clusters; views and what reads them; privileges. A released file is frozen: changes
-- go into the next version's upgrade script.

-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION shardid" to load this file. \quit

-- Nothing here is looked up where others may make things: neither while this runs, which
-- it does as a superuser, nor later. Therefore every object is made in a schema that is
-- named; schema shardid, in which nobody may make anything, holds all that has a text to
-- be read when it is called; and the user's schema holds functions of the library, and
-- those whose calls are bound now. Calls into schema shardid fit the declared types.
-- See docs/privileges.md.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Until this is committed nobody gives these schemas other names, to have schemas of his own named below.
DO $do$
BEGIN
    PERFORM FROM pg_namespace n WHERE n.nspname = 'shardid' OR n.oid = to_regnamespace('@extschema@') FOR SHARE;
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'shardid' AND e.extnamespace = to_regnamespace('@extschema@')) THEN
        RAISE EXCEPTION 'schema % has another name by now', '@extschema@'
            USING ERRCODE = '55000', HINT = 'Try again.';
    END IF;
END
$do$;

CREATE SCHEMA shardid;
COMMENT ON SCHEMA shardid IS 'tables, views and inner functions of the extension shardid';

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
    'how an id is put together: (time * shards + shard) * slots + slot; add one with create_layout()';
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
LANGUAGE sql STABLE STRICT PARALLEL SAFE
-- An interval holds 292,000 years: what lasts longer has no end worth naming.
-- Nothing is tried and caught here, since parallel queries have no subtransactions.
RETURN CASE WHEN EXTRACT(epoch FROM tick) * ticks < 9.2233e12 THEN epoch + tick * ticks ELSE 'infinity' END;
COMMENT ON FUNCTION shardid.layout_end(timestamptz, interval, bigint) IS
    'the first instant that no id of such a layout can have';

CREATE FUNCTION shardid.create_layout(
    name text, epoch timestamptz, tick interval, shards bigint, slots bigint, ticks bigint, if_not_exists boolean
) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fitting bigint;
    ends timestamptz;
    known shardid.layout;
BEGIN
    IF name IS NULL OR name = '' OR epoch IS NULL OR tick IS NULL OR shards IS NULL OR slots IS NULL THEN
        RAISE EXCEPTION 'a layout needs a name, an epoch, a tick, shards and slots'
            USING ERRCODE = '22004', HINT = 'SELECT create_layout(''mine'', ''2026-01-01Z'', ''1 ms'', 8192, 1024);';
    END IF;
    fitting := shardid.layout_ticks(epoch, tick, shards, slots, ticks);
    ends := shardid.layout_end(epoch, tick, fitting);
    -- Two sessions that make one layout: the second waits here, and then sees the first one's.
    PERFORM shardid.lock_number('shardid.layout'::regclass, hashtext(name), true);
    SELECT * INTO known FROM shardid.layout l WHERE l.name = create_layout.name;
    IF FOUND AND if_not_exists
        AND (known.epoch, known.tick, known.ticks, known.shards, known.slots) = (epoch, tick, fitting, shards, slots)
    THEN
        RETURN ends;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'layout "%" exists already', name
            USING ERRCODE = '42710',
                DETAIL = format('Its epoch is %s, its tick %s, with %s shards, %s slots and %s ticks.',
                    known.epoch, known.tick, known.shards, known.slots, known.ticks),
                HINT = 'SELECT * FROM shardid.layouts;';
    END IF;
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
    -- Another session has made it, and this transaction sees only what was there before.
    WHEN unique_violation THEN
        RAISE EXCEPTION 'layout "%" exists already', name
            USING ERRCODE = '42710', HINT = 'SELECT * FROM shardid.layouts;';
END
$$;
COMMENT ON FUNCTION shardid.create_layout(text, timestamptz, interval, bigint, bigint, bigint, boolean) IS
    'create_layout()';

CREATE FUNCTION @extschema@.create_layout(
    name text, epoch timestamptz, tick interval, shards bigint, slots bigint,
    ticks bigint DEFAULT NULL, if_not_exists boolean DEFAULT false
) RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.create_layout(name, epoch, tick, shards, slots, ticks, if_not_exists);
COMMENT ON FUNCTION @extschema@.create_layout(text, timestamptz, interval, bigint, bigint, bigint, boolean) IS
    'add a layout: name, epoch, tick, how many shards, how many ids a tick; returns when it ends';

CREATE FUNCTION shardid.layout_is_frozen() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        RAISE EXCEPTION 'layouts are built in or may be in use, and cannot be truncated'
            USING ERRCODE = '55006', HINT = 'DELETE FROM shardid.layout WHERE name = ...; where it is unused.';
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
        OR EXISTS (SELECT FROM shardid.dropped_id_sequence s WHERE s.layout = OLD.name)
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

-- Like regclass, but what is not there is no error: one row that names it, in a dump without its
-- schema or from another server, must not keep out all others.
CREATE TYPE shardid.regsequence;
CREATE FUNCTION shardid.regsequence_in(cstring) RETURNS shardid.regsequence
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'regsequence_in_wrapper';
COMMENT ON FUNCTION shardid.regsequence_in(cstring) IS 'reads the name of a sequence; 0 for one that is not there';
CREATE FUNCTION shardid.regsequence_out(shardid.regsequence) RETURNS cstring
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'regclassout';
COMMENT ON FUNCTION shardid.regsequence_out(shardid.regsequence) IS 'writes the name of a sequence';
CREATE FUNCTION shardid.regsequence_recv(internal) RETURNS shardid.regsequence
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'regclassrecv';
COMMENT ON FUNCTION shardid.regsequence_recv(internal) IS 'reads the number of a sequence';
CREATE FUNCTION shardid.regsequence_send(shardid.regsequence) RETURNS bytea
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'regclasssend';
COMMENT ON FUNCTION shardid.regsequence_send(shardid.regsequence) IS 'writes the number of a sequence';
CREATE TYPE shardid.regsequence (
    INPUT = shardid.regsequence_in, OUTPUT = shardid.regsequence_out,
    RECEIVE = shardid.regsequence_recv, SEND = shardid.regsequence_send, LIKE = regclass
);
COMMENT ON TYPE shardid.regsequence IS 'a sequence, as regclass; the name of one that is not there is none';
CREATE CAST (shardid.regsequence AS regclass) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (shardid.regsequence AS oid) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (regclass AS shardid.regsequence) WITHOUT FUNCTION AS ASSIGNMENT;

-- No foreign keys to shardid.layout: pg_restore -j loads these tables in any order.
CREATE TABLE shardid.shard (
    shard integer PRIMARY KEY CHECK (shard >= 0),
    layout text COLLATE "C" NOT NULL,
    sequence shardid.regsequence,
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
    sequence shardid.regsequence PRIMARY KEY,
    shard integer NOT NULL CHECK (shard >= 0),
    layout text COLLATE "C" NOT NULL
);
COMMENT ON TABLE shardid.id_sequence IS 'id generators of their own, made by create_id_sequence()';

-- What an id sequence gave out is not forgotten with it: another may be made for its table,
-- here, in a restored dump, or where a move has brought the shard.
CREATE TABLE shardid.dropped_id_sequence (
    shard integer NOT NULL,
    layout text COLLATE "C" NOT NULL,
    floor bigint,
    lost boolean NOT NULL DEFAULT false,
    PRIMARY KEY (shard, layout)
);
COMMENT ON TABLE shardid.dropped_id_sequence IS 'shards and layouts of id sequences, and what is remembered of those that were dropped';
COMMENT ON COLUMN shardid.dropped_id_sequence.floor IS 'ids that dropped ones have given out are not above this; null where none was dropped';
COMMENT ON COLUMN shardid.dropped_id_sequence.lost IS 'whether there is one of which a dump does not tell that: its ids are before the horizon';

CREATE FUNCTION shardid.row_kept() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- How far its ids went, nothing else here says.
    IF NEW.lost THEN
        PERFORM shardid.note_restored(NULL::oid);
    END IF;
    IF NEW.lost OR NEW.floor IS NOT NULL THEN
        PERFORM shardid.all_go_on_beyond();
    END IF;
    UPDATE shardid.dropped_id_sequence d SET floor = greatest(d.floor, NEW.floor), lost = d.lost OR NEW.lost
        WHERE (d.shard, d.layout) = (NEW.shard, NEW.layout);
    IF FOUND THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION shardid.row_kept() IS 'has a row that is there already be no less than the new one, also where a dump is restored';

CREATE TRIGGER row_kept BEFORE INSERT ON shardid.dropped_id_sequence
    FOR EACH ROW EXECUTE FUNCTION shardid.row_kept();

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

-- What was lost at the time of a dump is a bare number in it, which may be anything here.
CREATE FUNCTION shardid.row_restored() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Those of tickets have a minimum that nobody else has.
    IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = NEW.sequence
        AND (s.seqmin = -1000 OR TG_RELID <> 'shardid.ticket'::regclass))
    THEN
        -- All that is left of an id sequence.
        IF TG_RELID = 'shardid.id_sequence'::regclass THEN
            INSERT INTO shardid.dropped_id_sequence (shard, layout, lost) VALUES (NEW.shard, NEW.layout, true);
            RETURN NULL;
        END IF;
        NEW.sequence := NULL;
    END IF;
    -- What makes a ticket or a tag says afterwards that it begins now.
    IF TG_RELID IN ('shardid.ticket'::regclass, 'shardid.segment'::regclass) THEN
        NEW.history := 'restored';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION shardid.row_restored() IS 'has a row whose sequence is none have no sequence, and one of a dump say that it is';

CREATE TRIGGER row_restored BEFORE INSERT ON shardid.shard
    FOR EACH ROW EXECUTE FUNCTION shardid.row_restored();
CREATE TRIGGER row_restored BEFORE INSERT ON shardid.id_sequence
    FOR EACH ROW EXECUTE FUNCTION shardid.row_restored();

-- A dump does not say how far ids went where it does not have the sequence, or has one that was put back.
CREATE FUNCTION shardid.note_restored(sequence oid) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'note_restored_wrapper';
COMMENT ON FUNCTION shardid.note_restored(oid) IS
    'has ids of generators whose past is unknown begin max_drift ahead of the clock, if that one has come from elsewhere';

CREATE FUNCTION shardid.generator_restored() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- A move brings where the sequences of a cluster's shard stand; what a dump brings of one
    -- waits for adopt_shard().
    IF NOT EXISTS (SELECT FROM shardid.shard s WHERE s.shard = NEW.shard AND s.cluster IS NOT NULL) THEN
        IF NOT shardid.is_begun(NEW.sequence::regclass) THEN
            PERFORM shardid.note_restored(NEW.sequence::oid), shardid.go_on_beyond(NEW.sequence::regclass, NEW.shard::bigint, NEW.layout);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION shardid.generator_restored() IS 'calls note_restored() for a row that neither create_shard() nor a move has made';

CREATE TRIGGER generator_restored AFTER INSERT ON shardid.shard
    FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION shardid.generator_restored();
CREATE TRIGGER generator_restored AFTER INSERT ON shardid.id_sequence
    FOR EACH ROW EXECUTE FUNCTION shardid.generator_restored();

CREATE FUNCTION shardid.is_begun(sequence regclass) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'is_begun_wrapper';
COMMENT ON FUNCTION shardid.is_begun(regclass) IS
    'whether create_shard() or a move has made it a generator here, or it has given ids here, and it has not come from elsewhere since';

CREATE FUNCTION shardid.wait_for_number(listed regclass, number integer) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wait_for_number_wrapper';
COMMENT ON FUNCTION shardid.wait_for_number(regclass, integer) IS
    'waits for who holds a number of those in a table alone';

-- A dump brings what its generators gave, and maybe not all of that: whichever are here by now, under the same names or
-- others, may be of the tables whose rows come with it.
CREATE FUNCTION shardid.go_on_beyond(sequence regclass, shard bigint, layout text) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'go_on_beyond_wrapper';
COMMENT ON FUNCTION shardid.go_on_beyond(regclass, bigint, text) IS
    'has a generator of the caller''s go on after the tick that is max_drift ahead of the clock, beyond what one of a dump can have given; nothing for one of somebody else';

CREATE FUNCTION shardid.is_load_new() RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'is_load_new_wrapper';
COMMENT ON FUNCTION shardid.is_load_new() IS
    'whether this session has not asked within the last second, nor made a generator since';

CREATE FUNCTION shardid.all_go_on_beyond() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- There is a row for each shard, and each is for all generators.
    IF NOT shardid.is_load_new() THEN
        RETURN;
    END IF;
    PERFORM shardid.note_restored(NULL::oid);
    PERFORM shardid.go_on_beyond(g.sequence, g.shard, g.layout)
        FROM (SELECT s.sequence::regclass, s.shard::bigint, s.layout FROM shardid.shard s WHERE s.sequence IS NOT NULL
            UNION ALL SELECT i.sequence::regclass, i.shard::bigint, i.layout FROM shardid.id_sequence i) AS g;
    -- Once more, with all of that on disk before it: what is loaded may be on disk before it is committed.
    PERFORM shardid.note_restored(NULL::oid);
END
$$;
COMMENT ON FUNCTION shardid.all_go_on_beyond() IS 'calls go_on_beyond() for every generator of the database, where rows of a dump come';

-- Data alone is also loaded over a schema that migrations have made, with its shards: what is
-- there stays, and goes on as what comes with a dump does. Where it is not the same, the key says so.
CREATE FUNCTION shardid.row_there() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.shard;
    listed shardid.id_sequence;
BEGIN
    IF TG_RELID = 'shardid.layout'::regclass THEN
        IF EXISTS (SELECT FROM shardid.layout l WHERE (l.name, l.epoch, l.tick, l.ticks, l.shards, l.slots)
            = (NEW.name, NEW.epoch, NEW.tick, NEW.ticks, NEW.shards, NEW.slots))
        THEN
            RETURN NULL;
        END IF;
        RETURN NEW;
    END IF;
    IF TG_RELID = 'shardid.cluster'::regclass THEN
        RETURN CASE WHEN EXISTS (SELECT FROM shardid.cluster c WHERE (c.name, c.node) = (NEW.name, NEW.node)) THEN NULL ELSE NEW END;
    END IF;
    IF TG_RELID = 'shardid.ticket'::regclass THEN
        UPDATE shardid.ticket t
            SET floor = greatest(t.floor, NEW.floor), last_gapless = greatest(t.last_gapless, NEW.last_gapless), history = NEW.history
            WHERE t.name = NEW.name AND (t.server, t.servers) = (NEW.server, NEW.servers)
                AND t.ceiling IS NULL AND NEW.ceiling IS NULL AND (t.last_gapless IS NULL OR NEW.last_gapless IS NOT NULL);
        RETURN CASE WHEN FOUND THEN NULL ELSE NEW END;
    END IF;
    IF TG_RELID = 'shardid.segment'::regclass THEN
        UPDATE shardid.segment s SET step = NEW.step, update_time = NEW.update_time, history = NEW.history
            WHERE s.tag = NEW.tag AND (s.start, s.delta, s.remainder) = (NEW.start, NEW.delta, NEW.remainder);
        RETURN CASE WHEN FOUND THEN NULL ELSE NEW END;
    END IF;
    IF TG_RELID = 'shardid.id_sequence'::regclass THEN
        SELECT * INTO listed FROM shardid.id_sequence i WHERE i.sequence = NEW.sequence;
        IF NOT FOUND THEN
            RETURN NEW;
        END IF;
        PERFORM shardid.all_go_on_beyond();
        PERFORM shardid.go_on_beyond(listed.sequence::regclass, listed.shard::bigint, listed.layout);
        RETURN CASE WHEN (listed.shard, listed.layout) = (NEW.shard, NEW.layout) THEN NULL ELSE NEW END;
    END IF;
    -- Whoever makes that shard, and has not committed, is waited for.
    IF NEW.state <> 'moved' THEN
        PERFORM shardid.wait_for_number('shardid.shard'::regclass, NEW.shard);
    END IF;
    SELECT * INTO known FROM shardid.shard s WHERE s.shard = NEW.shard;
    IF NOT FOUND THEN
        -- What create_shard() or a move inserts is begun, and what place_shards() does is moved.
        IF NEW.state <> 'moved' AND NOT shardid.is_begun(NEW.sequence::regclass) THEN
            PERFORM shardid.all_go_on_beyond();
        END IF;
        RETURN NEW;
    END IF;
    -- create_shard() makes one again, with a sequence that is not the one of before.
    IF shardid.is_generator(NEW.sequence::regclass, NEW.shard, NEW.layout)
        AND NEW.sequence::oid IS DISTINCT FROM known.sequence::oid
    THEN
        RETURN NEW;
    END IF;
    PERFORM shardid.all_go_on_beyond();
    PERFORM shardid.go_on_beyond(known.sequence::regclass, known.shard::bigint, known.layout);
    IF known.layout = NEW.layout AND known.cluster IS NOT DISTINCT FROM NEW.cluster
        AND (known.state = 'open' AND known.sequence::regclass::text !~ '^[0-9]+$'
                AND shardid.is_generator(known.sequence::regclass, known.shard, known.layout)
            OR (known.state, NEW.state) = ('moved', 'moved'))
    THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION shardid.row_there() IS
    'has a row of a dump give way to the same one that is there, and all generators go on beyond what the dump''s can have given';

CREATE TRIGGER row_there BEFORE INSERT ON shardid.layout
    FOR EACH ROW EXECUTE FUNCTION shardid.row_there();
CREATE TRIGGER row_there BEFORE INSERT ON shardid.shard
    FOR EACH ROW EXECUTE FUNCTION shardid.row_there();
CREATE TRIGGER row_there BEFORE INSERT ON shardid.id_sequence
    FOR EACH ROW EXECUTE FUNCTION shardid.row_there();
CREATE TRIGGER row_there BEFORE INSERT ON shardid.cluster
    FOR EACH ROW EXECUTE FUNCTION shardid.row_there();

CREATE FUNCTION shardid.remember_dropped(gone regclass[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Nobody waits here for who drops another: what it cannot write to keeps the bare number. So does what somebody has
    -- changed since this statement began: it is locked as it is now, and not found to be written to.
    WITH remembered AS (
        SELECT d.ctid, d.shard, d.layout FROM shardid.dropped_id_sequence d
        WHERE (d.shard, d.layout) IN (SELECT s.shard, s.layout FROM shardid.id_sequence s
            JOIN shardid.layout l ON l.name = s.layout AND s.shard < l.shards
            WHERE s.sequence = ANY (gone) AND s.sequence::regclass::text ~ '^[0-9]+$')
        FOR UPDATE SKIP LOCKED
    ), kept AS (
        UPDATE shardid.dropped_id_sequence d
        SET floor = greatest(d.floor, shardid.last_id_at_most(NULL::regclass, d.shard::bigint, d.layout))
        FROM remembered r WHERE d.ctid = r.ctid RETURNING d.shard, d.layout
    ), listed AS (
        SELECT s.ctid FROM shardid.id_sequence s WHERE s.sequence = ANY (gone) AND s.sequence::regclass::text ~ '^[0-9]+$'
            AND EXISTS (SELECT FROM kept k WHERE (k.shard, k.layout) = (s.shard, s.layout))
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM shardid.id_sequence s USING listed WHERE s.ctid = listed.ctid;
END
$$;
COMMENT ON FUNCTION shardid.remember_dropped(regclass[]) IS
    'has id sequences that were dropped go from the list, and how far they can have gone be remembered';

-- Whoever drops a schema, or a table that owns the sequence, has the right to. Where event
-- triggers are off, the row keeps a bare number: whatever uses one looks what it is of.
CREATE FUNCTION shardid.sequence_dropped() RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone regclass[] := ARRAY(SELECT d.objid::regclass FROM pg_event_trigger_dropped_objects() d
        WHERE d.classid = 'pg_class'::regclass AND d.object_type = 'sequence');
BEGIN
    IF cardinality(gone) > 0 THEN
        -- Nobody waits here for who holds a table, or fails since a row was changed meanwhile: the
        -- rows keep their bare numbers then.
        LOCK TABLE shardid.layout IN ACCESS SHARE MODE NOWAIT;
        LOCK TABLE shardid.shard, shardid.id_sequence, shardid.dropped_id_sequence, shardid.ticket, shardid.segment
            IN ROW EXCLUSIVE MODE NOWAIT;
        -- Nor for who changes a row: whoever may write to these tables keeps nobody from dropping
        -- what is his own.
        WITH listed AS (SELECT s.ctid FROM shardid.shard s WHERE s.sequence = ANY (gone) FOR UPDATE SKIP LOCKED)
            UPDATE shardid.shard s SET sequence = NULL FROM listed WHERE s.ctid = listed.ctid;
        PERFORM shardid.remember_dropped(gone);
        WITH listed AS (SELECT t.ctid FROM shardid.ticket t WHERE t.sequence = ANY (gone) FOR UPDATE SKIP LOCKED)
            UPDATE shardid.ticket t SET sequence = NULL FROM listed WHERE t.ctid = listed.ctid;
        WITH listed AS (SELECT t.ctid FROM shardid.segment t WHERE t.sequence = ANY (gone) FOR UPDATE SKIP LOCKED)
            UPDATE shardid.segment t SET sequence = NULL FROM listed WHERE t.ctid = listed.ctid;
    END IF;
EXCEPTION WHEN lock_not_available OR serialization_failure THEN
    RETURN;
END
$$;
COMMENT ON FUNCTION shardid.sequence_dropped() IS
    'has what shardid knows of a sequence that was dropped go: its number may become that of anything';

CREATE EVENT TRIGGER shardid_sequence_dropped ON sql_drop
    EXECUTE FUNCTION shardid.sequence_dropped();
ALTER EVENT TRIGGER shardid_sequence_dropped ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER shardid_sequence_dropped IS 'has rows of shardid whose sequence was dropped have none';

-- A dump carries what users have made; the built-in layouts come with the extension.
SELECT pg_catalog.pg_extension_config_dump('shardid.layout',
    'WHERE name NOT IN (''instagram'', ''snowflake'', ''uidgenerator'', ''log32'', ''log32_2020'', ''decimal19'', ''js53'')');
SELECT pg_catalog.pg_extension_config_dump('shardid.shard', '');
SELECT pg_catalog.pg_extension_config_dump('shardid.id_sequence', '');
SELECT pg_catalog.pg_extension_config_dump('shardid.dropped_id_sequence', '');
SELECT pg_catalog.pg_extension_config_dump('shardid.cluster', '');

-- ---------------------------------------------------------------------------
-- how far ids may reach
-- ---------------------------------------------------------------------------

-- Where a generator does not know what it gave out, these do: numbers of the whole
-- database that only rise, written past any transaction, as those of every sequence.
-- next_id() raises them before it logs a lease; see horizon.rs. Below 0: nothing yet.
CREATE SEQUENCE shardid.horizon AS bigint MINVALUE -1 START 0 NO CYCLE;
COMMENT ON SEQUENCE shardid.horizon IS
    'an instant, in microseconds since 1970: no id of this database lies beyond it; a generator that was restarted goes on from there';
CREATE SEQUENCE shardid.largest_drift AS bigint MINVALUE -1 START 0 NO CYCLE;
COMMENT ON SEQUENCE shardid.largest_drift IS
    'the largest shardid.max_drift, in milliseconds, that ids were taken with: after a restore to a point in time they begin so far ahead';
CREATE SEQUENCE shardid.restored AS bigint MINVALUE -1 START 0 NO CYCLE;
COMMENT ON SEQUENCE shardid.restored IS
    'an instant, in microseconds since 1970: how far ahead ids were when rows of a dump came last; where how far a generator went is not known, it begins with the next tick';

-- No dump carries them: pg_restore -a would put them back in a database that goes on, and a
-- crash then leaves nothing that knows how far ids went. What a dump says of the generators
-- themselves is where they stood.

-- ---------------------------------------------------------------------------
-- taking ids
-- ---------------------------------------------------------------------------

-- One function for a number of any size: with a second one, for integer, a parameter of no
-- known type, and a smallint, would be ambiguous. Constants are cast once, by the planner.
CREATE FUNCTION @extschema@.next_id(shard bigint) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'shardid_next_id';
COMMENT ON FUNCTION @extschema@.next_id(bigint) IS 'a new id on that shard';

CREATE FUNCTION shardid.next_id(shard integer) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'shardid_next_id';
COMMENT ON FUNCTION shardid.next_id(integer) IS
    'next_id(shard), as defaults and functions call it that were made with version 0.1.0';

CREATE FUNCTION shardid.next_id(shard integer, sequence regclass) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'shardid_next_id';
COMMENT ON FUNCTION shardid.next_id(integer, regclass) IS
    'next_id(shard), as SCHEMA.next_id() calls it: by the sequence that function is known, and dropped, with its shard';

CREATE FUNCTION @extschema@.next_id() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'shardid_next_id_here';
COMMENT ON FUNCTION @extschema@.next_id() IS 'a new id on the shard in shardid.shard, or on the only shard there is';

CREATE FUNCTION @extschema@.next_id_from(sequence regclass) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'shardid_next_id_from';
COMMENT ON FUNCTION @extschema@.next_id_from(regclass) IS 'a new id from a sequence made by create_id_sequence()';

-- ROWS 1: of more the planner may keep what one call gave for the next one with the same arguments.
CREATE FUNCTION @extschema@.next_ids(shard bigint, count integer) RETURNS SETOF bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 1 AS 'MODULE_PATHNAME', 'shardid_next_ids';
COMMENT ON FUNCTION @extschema@.next_ids(bigint, integer) IS 'that many new ids on that shard, rising';

CREATE FUNCTION shardid.next_ids(shard integer, count integer) RETURNS SETOF bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 1 AS 'MODULE_PATHNAME', 'shardid_next_ids';
COMMENT ON FUNCTION shardid.next_ids(integer, integer) IS
    'next_ids(shard, count), as views and functions call it that were made with version 0.1.0';

CREATE FUNCTION @extschema@.last_id() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'last_id_wrapper';
COMMENT ON FUNCTION @extschema@.last_id() IS 'the last id this session got';

-- ---------------------------------------------------------------------------
-- making and dropping shards
-- ---------------------------------------------------------------------------

CREATE FUNCTION shardid.first_id(shard bigint, layout text, floor bigint) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'first_id_wrapper';
COMMENT ON FUNCTION shardid.first_id(bigint, text, bigint) IS
    'the first id of a new generator: now, and above floor';

CREATE FUNCTION shardid.begin_generator(sequence regclass, first bigint, replaces boolean) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'begin_generator_wrapper';
COMMENT ON FUNCTION shardid.begin_generator(regclass, bigint, boolean) IS
    'has a sequence that this transaction has made begin there: nothing above it was given out, or it replaces one of which that is not known';

CREATE FUNCTION shardid.last_id_at_most(sequence regclass, shard bigint, layout text) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'last_id_at_most_wrapper';
COMMENT ON FUNCTION shardid.last_id_at_most(regclass, bigint, text) IS
    'the highest id that a generator can have given out, -1 for none; sequence is null for one that is lost';

CREATE FUNCTION shardid.remembered_floor(shard bigint, layout text) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'remembered_floor_wrapper';
COMMENT ON FUNCTION shardid.remembered_floor(bigint, text) IS
    'what ids of dropped id sequences of that shard and layout are not above; null where none was dropped';

CREATE FUNCTION shardid.has_dropped_id_sequence(shard integer, layout text) RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'has_dropped_id_sequence_wrapper';
COMMENT ON FUNCTION shardid.has_dropped_id_sequence(integer, text) IS
    'whether this transaction has dropped an id sequence of that shard and layout, which a rollback brings back';

CREATE FUNCTION shardid.raise_horizon(id bigint, layout text) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'raise_horizon_wrapper';
COMMENT ON FUNCTION shardid.raise_horizon(bigint, text) IS
    'has the horizon be no earlier than an id, whose generator nobody here has known so far';

CREATE FUNCTION shardid.floor_within_drift(floor bigint, layout text) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'floor_within_drift_wrapper';
COMMENT ON FUNCTION shardid.floor_within_drift(bigint, text) IS
    'the last id of a dropped generator, or one that is as far ahead of the clock as ids may be, if it is further; null where there is none';

CREATE FUNCTION shardid.go_on_above(sequence regclass, last bigint) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'go_on_above_wrapper';
COMMENT ON FUNCTION shardid.go_on_above(regclass, bigint) IS
    'has a generator go on above an id, having given out nothing above it elsewhere';

CREATE FUNCTION shardid.carry_generator(sequence regclass, shard integer, last bigint, layout text) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM shardid.shard s WHERE s.state = 'open' AND (s.shard = carry_generator.shard
        OR s.sequence = carry_generator.sequence
        OR EXISTS (SELECT FROM shardid.id_sequence i WHERE i.sequence = carry_generator.sequence AND i.shard = s.shard)))
    THEN
        RAISE EXCEPTION 'shard % gives ids here', shard
            USING ERRCODE = '55006', DETAIL = format('Sequence %s was to go on above %s.', sequence, last),
                HINT = 'SELECT * FROM shardid.shards;';
    END IF;
    PERFORM shardid.go_on_above(sequence, last);
    -- If it is put back before it has given an id, nothing else here knows of those.
    PERFORM shardid.raise_horizon(last, layout);
END
$$;
COMMENT ON FUNCTION shardid.carry_generator(regclass, integer, bigint, text) IS
    'has a generator of a shard that lives elsewhere, and is about to come here, go on above the last id that it can have given out there';

CREATE FUNCTION shardid.slot_end(id bigint, layout text) RETURNS timestamptz
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'slot_end_wrapper';
COMMENT ON FUNCTION shardid.slot_end(bigint, text) IS
    'when a new generator would begin above an id';

CREATE FUNCTION shardid.wait_for_clock(id bigint, layout text) RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wait_for_clock_wrapper';
COMMENT ON FUNCTION shardid.wait_for_clock(bigint, text) IS
    'waits until a new generator would begin above an id, for a minute or for as long as ids may be ahead; returns whether it would';

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

CREATE FUNCTION shardid.id_at("time" timestamptz, layout text) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_at_in_wrapper';
COMMENT ON FUNCTION shardid.id_at(timestamptz, text) IS 'id_at(), for the functions in schema shardid';

CREATE FUNCTION shardid.is_generator(sequence regclass, shard integer, layout text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_sequence s JOIN shardid.layout l ON l.name = is_generator.layout
        WHERE s.seqrelid = sequence AND s.seqincrement = l.shards * l.slots AND s.seqmin = shard * l.slots)
$$;
COMMENT ON FUNCTION shardid.is_generator(regclass, integer, text) IS
    'whether a relation is a sequence as create_shard() makes it for that shard: where a row was restored, its number may be that of another';

CREATE FUNCTION shardid.check_schema(schema name) RETURNS void
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF schema = '' THEN
        RAISE EXCEPTION 'a generator needs a schema with a name'
            USING ERRCODE = '42602', HINT = 'SELECT create_shard(5, ''photos''); or leave it out: SELECT create_shard(5);';
    END IF;
    IF schema ~ '^pg_' OR schema IN ('information_schema', 'shardid', 'shardid_tickets', 'shardid_segments') THEN
        RAISE EXCEPTION 'schema "%" is not for generators of ids', schema
            USING ERRCODE = '42939', DETAIL = 'It belongs to the system or to shardid, or ends with the session.',
                HINT = 'Choose another schema.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_schema(name) IS 'refuses schemas of the system, temporary ones and our own';

-- What has a name may have another one in the next moment, and its name may be that of a view
-- that runs its owner's functions. So a sequence is locked and read by its number; a command
-- needs its name, and is looked at afterwards.

CREATE FUNCTION shardid.read_sequence(sequence oid) RETURNS TABLE (last_value bigint, is_called boolean)
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'read_sequence_wrapper';
COMMENT ON FUNCTION shardid.read_sequence(oid) IS
    'where a sequence stands: what a query by its name says of it, but never runs anything';

CREATE FUNCTION shardid.last_number(sequence oid) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'last_number_wrapper';
COMMENT ON FUNCTION shardid.last_number(oid) IS
    'the last number of a sequence; null where it has given none, or its caller may not see it, or it is no sequence or is being dropped';

CREATE FUNCTION shardid.hold_sequence(sequence oid) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hold_sequence_wrapper';
COMMENT ON FUNCTION shardid.hold_sequence(oid) IS
    'waits until no transaction uses a sequence of the caller''s, and keeps others from it until this one ends';

-- Not an advisory lock: whoever can connect could take that, and keep others waiting.
CREATE FUNCTION shardid.lock_number(listed regclass, number integer, alone boolean) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'lock_number_wrapper';
COMMENT ON FUNCTION shardid.lock_number(regclass, integer, boolean) IS
    'locks a number of those in a table until the transaction ends, alone or with others, for a caller who may write to that table';

CREATE FUNCTION shardid.check_name(sequence regclass, path text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    taken record;
BEGIN
    IF to_regclass(path) IS DISTINCT FROM sequence THEN
        RAISE EXCEPTION 'relation % was renamed or replaced meanwhile', path
            USING ERRCODE = '40001', HINT = 'Try again.';
    END IF;
    -- Nothing that is read of it here would be true.
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = sequence) THEN
        RAISE EXCEPTION 'sequence % was made meanwhile, and this transaction does not see it', path
            USING ERRCODE = '40001', HINT = 'Try again in a transaction of its own.';
    END IF;
    -- Under a name that it was given: the one that is made would go on in it, and end it when it goes.
    SELECT * INTO taken FROM (
        SELECT 'shard', s.shard::text FROM shardid.shard s WHERE s.sequence = check_name.sequence
        UNION ALL SELECT 'an id sequence of shard', s.shard::text FROM shardid.id_sequence s WHERE s.sequence = check_name.sequence
        UNION ALL SELECT 'ticket', quote_ident(s.name) FROM shardid.ticket s WHERE s.sequence = check_name.sequence
        UNION ALL SELECT 'segment tag', quote_ident(s.tag) FROM shardid.segment s WHERE s.sequence = check_name.sequence
    ) AS listed (kind, name) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'sequence % exists already: it is % %', path, taken.kind, taken.name
            USING ERRCODE = '42P07', HINT = 'Choose another name.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_name(regclass, text) IS
    'refuses to go on with a sequence that has lost its name while it was waited for, or is something else''s';

CREATE FUNCTION shardid.alter_sequence(sequence regclass, change text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    version tid;
BEGIN
    PERFORM shardid.hold_sequence(sequence::oid);
    SELECT s.ctid INTO version FROM pg_sequence s WHERE s.seqrelid = sequence;
    EXECUTE format('ALTER SEQUENCE %s %s', sequence, change);
    -- Every change writes its row anew, and nobody else can meanwhile.
    IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = sequence AND s.ctid <> version) THEN
        RAISE EXCEPTION 'sequence % was renamed or replaced meanwhile', sequence
            USING ERRCODE = '40001', HINT = 'Try again.';
    END IF;
    -- A snapshot from before somebody else's change sees that row and ours: what it says of bounds is not so.
    IF (SELECT count(*) FROM pg_sequence s WHERE s.seqrelid = sequence) > 1 THEN
        RAISE EXCEPTION 'sequence % was changed since this transaction''s snapshot', sequence
            USING ERRCODE = '40001', HINT = 'Try again in a transaction of its own.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.alter_sequence(regclass, text) IS
    'ALTER SEQUENCE of that one, whatever has its name by then';

CREATE FUNCTION shardid.drop_sequence(sequence regclass) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    path text;
BEGIN
    PERFORM shardid.hold_sequence(sequence::oid);
    -- As it is called behind the lock; afterwards it has no name.
    path := sequence;
    EXECUTE format('DROP SEQUENCE %s', path);
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = sequence) THEN
        RAISE EXCEPTION 'sequence % was renamed or replaced meanwhile', path
            USING ERRCODE = '40001', HINT = 'Try again.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.drop_sequence(regclass) IS
    'DROP SEQUENCE of that one, whatever has its name by then';

CREATE FUNCTION shardid.may_own(owner oid, listed regclass) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT owner = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user) OR has_table_privilege(owner, listed::oid, 'INSERT')
$$;
COMMENT ON FUNCTION shardid.may_own(oid, regclass) IS
    'whether what belongs to that role may serve its caller: it is the caller, or may write to that table';

CREATE FUNCTION shardid.alter_command(relation regclass) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('ALTER %s %s', upper(replace(o.type, 'composite type', 'type')), relation)
    FROM pg_identify_object('pg_class'::regclass::oid, relation::oid, 0) o
$$;
COMMENT ON FUNCTION shardid.alter_command(regclass) IS
    'how a command begins that alters a relation: ALTER VIEW and its name, if it is one';

CREATE FUNCTION shardid.check_owner(relation regclass, listed regclass) RETURNS void
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = relation);
BEGIN
    IF owner IS NULL THEN
        RAISE EXCEPTION 'relation % was made meanwhile, and this transaction does not see it', relation
            USING ERRCODE = '40001', HINT = 'Try again in a transaction of its own.';
    END IF;
    IF NOT shardid.may_own(owner, listed) THEN
        RAISE EXCEPTION 'relation % exists already and belongs to role "%"', relation, pg_get_userbyid(owner)
            USING ERRCODE = '42501',
                DETAIL = format('It is taken up only from its caller, or from a role that may write to %s.', listed),
                HINT = CASE WHEN EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = relation)
                    THEN format('If its numbers can be trusted, its owner or a superuser may give it away: %s OWNER TO %I; else rename it.', shardid.alter_command(relation), current_user)
                    ELSE format('It is no sequence. Choose another name, or rename it: %s RENAME TO ...;', shardid.alter_command(relation)) END;
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_owner(regclass, regclass) IS
    'refuses to take up a sequence that somebody else has put in its place';

CREATE FUNCTION shardid.check_home(schema regnamespace, listed regclass) RETURNS void
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner oid := (SELECT n.nspowner FROM pg_namespace n WHERE n.oid = schema);
BEGIN
    IF owner IS NULL THEN
        RAISE EXCEPTION 'schema % was made meanwhile, and this transaction does not see it', schema
            USING ERRCODE = '40001', HINT = 'Try again in a transaction of its own.';
    END IF;
    -- Whoever owns it may drop or rename what is in it.
    IF NOT shardid.may_own(owner, listed) THEN
        RAISE EXCEPTION 'schema % belongs to role "%"', schema, pg_get_userbyid(owner)
            USING ERRCODE = '42501',
                DETAIL = format('It is used only if it belongs to its caller, or to a role that may write to %s.', listed),
                HINT = format('If what is in it can be trusted, its owner or a superuser may give it away: ALTER SCHEMA %s OWNER TO %I; else rename it.', schema, current_user);
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_home(regnamespace, regclass) IS
    'refuses to put a sequence into a schema that somebody else has put in its place';

CREATE FUNCTION shardid.create_generator(
    schema name, name name, shard integer, layout text, floor bigint, replaces boolean
) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule shardid.layout := shardid.layout_of(shard, layout);
    -- In this order: the last shard's last id may be the largest bigint there is.
    top bigint := ((rule.ticks - 1) * rule.shards + shard) * rule.slots + (rule.slots - 1);
    first bigint := shardid.first_id(shard::bigint, layout, floor);
    path text := format('%I.%I', schema, name);
    generator regclass := to_regclass(path);
    present pg_sequence;
    called boolean;
    last bigint;
    furthest bigint;
    known bigint;
    begins_at timestamptz;
BEGIN
    IF rule.ticks = 1 AND rule.slots = 1 THEN
        RAISE EXCEPTION 'layout "%" has a single id for each shard', layout
            USING ERRCODE = '22023', DETAIL = 'It has one tick with one slot, and a sequence has two numbers at least.',
                HINT = 'Take a layout with more ticks or slots: SELECT name, ticks, slots FROM shardid.layouts;';
    END IF;
    IF generator IS NULL THEN
        EXECUTE format('CREATE SEQUENCE %s AS bigint INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE 1 NO CYCLE',
            path, rule.shards * rule.slots, shard * rule.slots, top, first);
        -- Of one that replaces another, next_id() takes it that ids were given out above
        -- it, and begins beyond the horizon.
        generator := path::regclass;
        PERFORM shardid.begin_generator(generator, first, replaces);
        -- What lies below is an earlier generator's: if the sequence is restarted or lost before it
        -- has given an id, nothing else knows of that. No further than that: where its ticks are
        -- long, the first id is of the next one, and all other generators would begin there.
        IF floor >= shardid.id_at(clock_timestamp(), layout) THEN
            PERFORM shardid.raise_horizon(shardid.floor_within_drift(floor, layout), layout);
        END IF;
        known := shardid.last_id_at_most(NULL::regclass, shard::bigint, layout);
        begins_at := rule.epoch + rule.tick * (shardid.first_id(shard::bigint, layout,
            greatest(floor, CASE WHEN replaces THEN known END)) / (rule.shards * rule.slots))::float8;
        IF begins_at > clock_timestamp() + current_setting('shardid.max_drift')::interval THEN
            RAISE WARNING 'ids of sequence % begin at %', generator, begins_at
                USING DETAIL = CASE WHEN rule.epoch > clock_timestamp() THEN format('Layout "%s" begins then.', layout)
                        WHEN floor > known THEN format('Ids that shard %s had before went as far.', shard)
                        ELSE format('How far ids of shard %s went in the present tick is not known: it begins with the next one.', shard) END,
                    HINT = 'It gives none before that, or shardid.max_drift before it where that is a tick or more.'
                        || CASE WHEN rule.epoch <= clock_timestamp() AND floor > known THEN
                        format(' If these were never given out, as after a setval() by mistake: ALTER SEQUENCE %s RESTART WITH %s;',
                            generator, shardid.first_id(shard::bigint, layout, NULL::bigint)) ELSE '' END;
        END IF;
    ELSE
        PERFORM shardid.check_owner(generator, 'shardid.shard'::regclass);
        -- Once more behind the lock: whoever had it before may have given it away.
        PERFORM shardid.hold_sequence(generator::oid);
        PERFORM shardid.check_name(generator, path);
        PERFORM shardid.check_owner(generator, 'shardid.shard'::regclass);
        SELECT * INTO present FROM pg_sequence s WHERE s.seqrelid = generator;
        IF present.seqincrement IS DISTINCT FROM rule.shards * rule.slots OR present.seqmin <> shard * rule.slots THEN
            RAISE EXCEPTION 'relation % exists already and is not an id sequence of shard % with layout "%"', path, shard, layout
                USING ERRCODE = '42P07', HINT = format('Choose another schema or name, or rename what is there: %s RENAME TO ...;', shardid.alter_command(generator));
        END IF;
        -- It would end, or begin again, before the layout does.
        IF present.seqmax < top OR present.seqcycle THEN
            RAISE EXCEPTION 'sequence % exists already and does not go up to the last id of shard % with layout "%"', path, shard, layout
                USING ERRCODE = '55000',
                    DETAIL = format('That is %s. The sequence has MAXVALUE %s %s.', top, present.seqmax, CASE WHEN present.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END),
                    HINT = format('ALTER SEQUENCE %s AS bigint MAXVALUE %s NO CYCLE;', path, top);
        END IF;
        -- Its generator from before, left by an extension that was dropped, or restored: it
        -- knows where it stands, and next_id() goes on above that. Unless it came from a
        -- dump without data: then its ids may go as far as the drift allows.
        SELECT s.is_called, s.last_value INTO called, last FROM shardid.read_sequence(generator::oid) s;
        -- One that stands beyond any clock would poison the shard, and every other with it.
        IF current_setting('shardid.max_jump') <> '-1' THEN
            furthest := shardid.id_at(clock_timestamp() + greatest(current_setting('shardid.max_jump')::interval,
                current_setting('shardid.max_drift')::interval), layout);
            IF called AND last > furthest THEN
                RAISE EXCEPTION 'sequence % stands too far ahead of the clock to be taken up', path
                    USING ERRCODE = '55000',
                        DETAIL = format('Its last value is %s; an id of then, shardid.max_jump ahead of now, is %s.', last, furthest),
                        HINT = 'Rename it: ALTER SEQUENCE ... RENAME TO ...; or, where these are ids that were given out, SET shardid.max_jump.';
            END IF;
        END IF;
        IF NOT called THEN
            first := shardid.first_id(shard::bigint, layout, greatest(floor,
                shardid.id_at(clock_timestamp() + current_setting('shardid.max_drift')::interval, layout)));
        END IF;
        IF floor IS NOT NULL OR NOT called THEN
            PERFORM setval(generator, greatest(first, last));
        END IF;
        -- If it is restarted before it has given an id, nothing else knows of those.
        PERFORM shardid.raise_horizon(greatest(last, CASE WHEN called THEN
            shardid.last_id_at_most(generator, shard::bigint, layout) END), layout);
    END IF;
    IF shardid.layout_end(rule.epoch, rule.tick, rule.ticks) < clock_timestamp() + interval '1 year' THEN
        RAISE WARNING 'layout "%" ends in less than a year, at %', layout,
            shardid.layout_end(rule.epoch, rule.tick, rule.ticks)
            USING HINT = 'SELECT name, ends_at FROM shardid.layouts; lists layouts that last longer.';
    END IF;
    RETURN generator;
END
$$;
COMMENT ON FUNCTION shardid.create_generator(name, name, integer, text, bigint, boolean) IS
    'makes the sequence behind a shard or an id sequence; its increment is one whole tick; replaces: its shard had another one before';

CREATE FUNCTION shardid.next_id_functions(shard integer, sequence regclass) RETURNS SETOF regprocedure
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
    -- OFFSET 0 keeps this order, by the index of what depends on an object: next_id is the
    -- name of as many functions as there are shards, and the planner may not know.
    SELECT p.oid::regprocedure
    FROM (SELECT d.objid FROM pg_depend d
        WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = sequence AND d.classid = 'pg_proc'::regclass OFFSET 0) AS d
    CROSS JOIN LATERAL (SELECT * FROM pg_proc p WHERE p.oid = d.objid OFFSET 0) AS p
    WHERE p.proname = 'next_id' AND p.pronargs = 0
        AND pg_get_function_sqlbody(p.oid) ~ format('^RETURN shardid[.]next_id[(]%s, ', shard)
        AND pg_has_role(p.proowner, 'USAGE')
        -- Somebody may have written the same.
        AND (obj_description(p.oid, 'pg_proc') = format('a new id on shard %s', shard)
            OR EXISTS (SELECT FROM pg_class c WHERE c.oid = sequence AND c.relnamespace = p.pronamespace))
    UNION ALL
    -- As version 0.1.0 has made them; also where a dump has brought it.
    SELECT p.oid::regprocedure
    FROM (SELECT d.objid FROM pg_depend d
        WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT unnest(e.of_shards) FROM shardid.entries() e)
            AND d.classid = 'pg_proc'::regclass OFFSET 0) AS d
    CROSS JOIN LATERAL (SELECT * FROM pg_proc p WHERE p.oid = d.objid OFFSET 0) AS p
    WHERE p.proname = 'next_id' AND p.pronargs = 0
        AND CASE WHEN obj_description(p.oid, 'pg_proc') = format('a new id on shard %s', shard)
            THEN pg_get_function_sqlbody(p.oid) ~ format('^RETURN ("([^"]|"")*"|[[:alnum:]_$]+)[.]next_id[(](%s|[(]%s[)]::bigint)[)]$', shard, shard) END
        AND coalesce((SELECT c.relowner = p.proowner FROM pg_class c WHERE c.oid = sequence), pg_has_role(p.proowner, 'USAGE'))
$$;
COMMENT ON FUNCTION shardid.next_id_functions(integer, regclass) IS
    'the functions next_id() that create_shard() has made for a shard with that sequence';

CREATE FUNCTION shardid.calls_with(expression pg_node_tree, functions oid[], argument text) RETURNS integer
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'calls_with_wrapper';
COMMENT ON FUNCTION shardid.calls_with(pg_node_tree, oid[], text) IS
    'whether a stored expression calls one of those functions with that first: 2 it does, 1 that is known only when it runs, 0 with others; null: it calls none';

CREATE FUNCTION shardid.may_call(expression pg_node_tree, functions oid[], argument text) RETURNS integer
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN shardid.calls_with(expression, functions, argument);
EXCEPTION
    -- An argument that cannot be computed, such as 1/0, is not known.
    WHEN OTHERS THEN
        RETURN 1;
END
$$;
COMMENT ON FUNCTION shardid.may_call(pg_node_tree, oid[], text) IS
    'calls_with(), but 1 where that fails';

CREATE FUNCTION shardid.users_of(
    sequence oid, made oid[], functions oid[], argument text, anyway oid[]
) RETURNS TABLE (name text, is_column boolean, is_called boolean, certainty integer)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Every catalog that keeps expressions, whatever the server's version has.
    trees text := (SELECT string_agg(format(
            'SELECT %1$s::oid AS class, d.objid AS object, e.tree FROM (SELECT DISTINCT d.objid FROM pg_depend d '
            || 'WHERE d.refclassid = %2$s AND d.refobjid = ANY ($1) AND d.classid = %1$s OFFSET 0) AS d '
            || 'CROSS JOIN LATERAL (SELECT t.%3$I AS tree FROM %4$s t WHERE t.oid = d.objid OFFSET 0) AS e',
            k.attrelid, 'pg_proc'::regclass::oid, k.attname, k.attrelid::regclass), ' UNION ALL ')
        FROM pg_attribute k JOIN pg_class c ON c.oid = k.attrelid
        WHERE k.atttypid = 'pg_node_tree'::regtype AND c.relkind = 'r' AND c.relnamespace = 'pg_catalog'::regnamespace
            AND EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = k.attrelid AND o.attname = 'oid'));
    classes oid[];
    objects oid[];
    calls integer[];
BEGIN
    EXECUTE format('SELECT array_agg(t.class), array_agg(t.object), array_agg(shardid.may_call(t.tree, $1, $2)) '
        || 'FROM (%s) AS t WHERE t.tree IS NOT NULL', trees) INTO classes, objects, calls USING functions, argument;
    RETURN QUERY
    WITH RECURSIVE
    -- What does not call it, and depends on it all the same, may do so by an operator.
    direct AS (
        SELECT d.classid AS class, d.objid AS object, coalesce(max(c.calls), 1) AS calls
        FROM pg_depend d
        LEFT JOIN unnest(classes, objects, calls) AS c(class, object, calls) ON c.class = d.classid AND c.object = d.objid
        WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = ANY (functions) AND d.deptype = 'n'
        GROUP BY d.classid, d.objid
    ),
    -- 4: it itself; 3: what the server would not let it go without; 2: what would fail; 1: what might.
    used (class, object, level) AS (
        (SELECT 'pg_class'::regclass::oid, sequence, 4
        UNION ALL SELECT 'pg_proc'::regclass::oid, m, 4 FROM unnest(made) AS m
        UNION ALL SELECT 'pg_proc'::regclass::oid, m, 2 FROM unnest(anyway) AS m
        UNION ALL SELECT d.class, d.object, d.calls FROM direct d WHERE d.calls > 0)
        UNION
        SELECT n.class, n.object, n.level
        FROM used u CROSS JOIN LATERAL (
            -- Whoever calls, reads or computes by it; a table does not fail as a whole.
            SELECT d.classid AS class, d.objid AS object, CASE WHEN u.level > 2 THEN u.level - 1 ELSE u.level END AS level
            FROM pg_depend d
            WHERE d.refclassid = u.class AND d.refobjid = u.object AND d.deptype = 'n'
                AND (u.class IN ('pg_proc'::regclass, 'pg_operator'::regclass)
                    OR u.class = 'pg_class'::regclass AND EXISTS (SELECT FROM pg_class c WHERE c.oid = u.object AND c.relkind IN ('S', 'v', 'm')))
            UNION ALL
            SELECT 'pg_class'::regclass, r.ev_class, u.level FROM pg_rewrite r
            WHERE u.class = 'pg_rewrite'::regclass AND r.oid = u.object AND r.ev_type = '1'
        ) AS n
    )
    SELECT coalesce((SELECT format('%s.%I', d.adrelid::regclass, a.attname) FROM pg_attrdef d
                JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
                WHERE u.class = 'pg_attrdef'::regclass AND d.oid = u.object),
            pg_describe_object(u.class, u.object, 0)),
        u.class = 'pg_attrdef'::regclass,
        u.class IN ('pg_proc'::regclass, 'pg_operator'::regclass)
            OR EXISTS (SELECT FROM pg_class c WHERE u.class = 'pg_class'::regclass AND c.oid = u.object AND c.relkind IN ('S', 'v', 'm')),
        max(u.level)
    FROM used u
    -- Nor do ours count, nor what stands for a view.
    WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = u.class AND d.objid = u.object AND d.deptype = 'e')
        AND NOT EXISTS (SELECT FROM pg_rewrite r WHERE u.class = 'pg_rewrite'::regclass AND r.oid = u.object AND r.ev_type = '1')
    GROUP BY u.class, u.object
    HAVING max(u.level) < 4;
END
$$;
COMMENT ON FUNCTION shardid.users_of(oid, oid[], oid[], text, oid[]) IS
    'what the server knows to use a sequence, functions made for it, those functions with that argument, or the ones in anyway';

CREATE FUNCTION shardid.check_unused(
    what text, sequence oid, made oid[], functions oid[], argument text, anyway oid[]
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    columns text;
    others text;
    perhaps text;
BEGIN
    SELECT string_agg(u.name, ', ' ORDER BY u.name) FILTER (WHERE u.is_column AND u.certainty > 1),
        string_agg(u.name, ', ' ORDER BY u.name) FILTER (WHERE NOT u.is_column AND u.certainty > CASE WHEN u.is_called THEN 2 ELSE 1 END),
        string_agg(u.name, ', ' ORDER BY u.name) FILTER (WHERE u.certainty = CASE WHEN u.is_called THEN 2 ELSE 1 END)
        INTO columns, others, perhaps
        FROM shardid.users_of(sequence, made, functions, argument, anyway) u;
    IF others IS NOT NULL THEN
        RAISE EXCEPTION '% cannot be dropped because other objects use it', what
            USING ERRCODE = '2BP01', DETAIL = concat_ws(' ', 'Columns: ' || columns || '.', 'Others: ' || others || '.'),
                HINT = 'Have them use another one first, by ALTER or CREATE OR REPLACE.';
    END IF;
    IF columns IS NOT NULL THEN
        RAISE EXCEPTION '% cannot be dropped because defaults use it', what
            USING ERRCODE = '2BP01', DETAIL = format('Columns: %s.', columns),
                HINT = 'ALTER TABLE ... ALTER COLUMN ... DROP DEFAULT; first.';
    END IF;
    IF perhaps IS NOT NULL THEN
        RAISE WARNING '% may still be used, by what computes its argument, and by functions and views', what
            USING DETAIL = format('They are: %s.', perhaps), HINT = 'They fail where they name it from now on; in a transaction, ROLLBACK keeps it.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_unused(text, oid, oid[], oid[], text, oid[]) IS
    'refuses to drop what columns, domains or other objects use, and warns of those that may; see users_of()';

CREATE FUNCTION shardid.check_next_id(shard integer, schema name, sequence regclass) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner oid := (SELECT p.proowner FROM pg_proc p JOIN shardid.next_id_functions(shard, sequence) f ON f = p.oid
        JOIN pg_class c ON c.oid = sequence AND c.relowner = p.proowner
        WHERE p.pronamespace = to_regnamespace(quote_ident(schema)) AND NOT shardid.may_own(p.proowner, 'shardid.shard'::regclass));
BEGIN
    IF owner IS NOT NULL THEN
        RAISE EXCEPTION 'function %.next_id() exists already and belongs to role "%"', quote_ident(schema), pg_get_userbyid(owner)
            USING ERRCODE = '42501',
                DETAIL = 'It is taken up only from its caller, or from a role that may write to shardid.shard.',
                HINT = format('If that role may make shards here: GRANT INSERT ON shardid.shard TO %I;', pg_get_userbyid(owner));
    END IF;
    -- Whoever owns it may give it another body later, and defaults of others call it.
    IF EXISTS (SELECT FROM pg_proc p
        WHERE p.pronamespace = to_regnamespace(quote_ident(schema)) AND p.proname = 'next_id' AND p.pronargs = 0
            AND NOT (shardid.may_own(p.proowner, 'shardid.shard'::regclass)
                AND EXISTS (SELECT FROM shardid.next_id_functions(shard, sequence) f WHERE f = p.oid)))
    THEN
        RAISE EXCEPTION 'schema "%" has a function next_id() of its own', schema
            USING ERRCODE = '42723',
                DETAIL = 'Whatever calls that one would call another, or none.',
                HINT = format('Choose another schema, and the layout that the shard had, if it had one: SELECT create_shard(%s, ''another schema'');', shard);
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_next_id(integer, name, regclass) IS
    'refuses a schema with a function next_id() that create_shard() has not made, or that belongs to somebody else';

CREATE FUNCTION shardid.dropped_before(shard integer, layout text, OUT floor bigint, OUT replaces boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    floor := shardid.remembered_floor(shard::bigint, layout);
    -- A rollback would bring one back that this transaction has dropped, as it was before the ids of the new
    -- one. Where the event trigger could not write, its row is there still, with a bare number: as of
    -- now, also where this transaction sees the sequence as it was before. Whoever drops one has it
    -- locked until the end: what others have dropped stays dropped.
    replaces := shardid.has_dropped_id_sequence(shard, layout) OR EXISTS (SELECT FROM shardid.id_sequence s WHERE s.shard = dropped_before.shard
        AND CASE WHEN s.sequence::regclass::text ~ '^[0-9]+$'
            THEN EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.relation = s.sequence AND l.mode = 'AccessExclusiveLock'
                AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
            ELSE NOT shardid.is_generator(s.sequence::regclass, s.shard, s.layout) END);
    -- Its number may become that of anything. Who has written there since is right, too, and a role that
    -- only makes them may not take rows away.
    BEGIN
        PERFORM shardid.remember_dropped(ARRAY(SELECT s.sequence::regclass FROM shardid.id_sequence s
            WHERE s.shard = dropped_before.shard AND s.sequence::regclass::text ~ '^[0-9]+$'));
        floor := shardid.remembered_floor(shard::bigint, layout);
    EXCEPTION WHEN serialization_failure OR insufficient_privilege THEN
        -- Then it stays for the next one.
    END;
END
$$;
COMMENT ON FUNCTION shardid.dropped_before(integer, text) IS
    'how far ids of id sequences of that shard and layout went that were dropped, and whether one of them comes back by a rollback';

CREATE FUNCTION shardid.create_shard(
    shard integer, schema name, layout text, if_not_exists boolean, above bigint
) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule shardid.layout := shardid.layout_of(shard, layout);
    known shardid.shard;
    path name := coalesce(schema, 'shard_' || lpad(shard::text, greatest(4, length(shard::text)), '0'));
    generator regclass;
    lost boolean;
    furthest bigint;
    before record;
BEGIN
    PERFORM shardid.check_schema(path);
    -- Two sessions that make one shard: the second waits here, and then sees the first one's.
    PERFORM shardid.lock_number('shardid.shard'::regclass, shard, true);
    -- Or two shards in one schema. No shard has such a number.
    PERFORM shardid.lock_number('shardid.shard'::regclass, -1 - (hashtext(path) & 2147483647), true);
    SELECT * INTO known FROM shardid.shard s WHERE s.shard = create_shard.shard FOR UPDATE;
    -- Its sequence went with its schema, or was left out of a dump: where it stood is not known.
    -- Its number has no name as of now, also where this transaction sees it as it was before.
    lost := known.state = 'open' AND (known.sequence::regclass::text ~ '^[0-9]+$'
        OR NOT shardid.is_generator(known.sequence::regclass, known.shard, known.layout));
    IF known.shard IS NOT NULL AND known.state <> 'dropped' AND NOT lost THEN
        -- The same is there; above is kept to, or it is not the same.
        IF if_not_exists AND known.state = 'open' AND known.layout = create_shard.layout
            AND (schema IS NULL OR EXISTS (SELECT FROM pg_class c
                WHERE c.oid = known.sequence AND c.relnamespace = to_regnamespace(quote_ident(schema))))
            AND (above IS NULL OR above < coalesce(shardid.last_id_at_most(known.sequence::regclass, shard::bigint, layout), 0))
        THEN
            RETURN known.sequence;
        END IF;
        RAISE EXCEPTION 'shard % exists already', shard
            USING ERRCODE = '42710',
                DETAIL = CASE WHEN known.state = 'moved' THEN format('It lives on node "%s".', known.node)
                    WHEN if_not_exists AND known.layout = create_shard.layout AND above >= coalesce(shardid.last_id_at_most(known.sequence::regclass, shard::bigint, layout), 0)
                        THEN format('It may still hand out ids that are not above %s.', above)
                    ELSE format('Its sequence is %s, its layout "%s".', known.sequence, known.layout) END,
                HINT = CASE WHEN if_not_exists AND known.state = 'open' AND known.layout = create_shard.layout AND above >= coalesce(shardid.last_id_at_most(known.sequence::regclass, shard::bigint, layout), 0)
                        THEN format('When the clock has passed that id: SELECT next_id(%s); then this again.', shard)
                    ELSE 'SELECT * FROM shardid.shards;' END;
    END IF;
    -- It has its ids on the server that this is a copy of.
    IF known.cluster IS NOT NULL AND (known.system_identifier, known.database)
        IS DISTINCT FROM ((SELECT c.system_identifier FROM pg_control_system() c), current_database())
    THEN
        RAISE EXCEPTION 'shard % belongs to another server or database, of which this is a copy', shard
            USING ERRCODE = 'SI003',
                DETAIL = format('It was placed in database "%s" of the server it came from, which may still hand out its ids.', known.database),
                HINT = format('When the other copy is gone for good: SELECT adopt_shard(%s); then this again.', shard);
    END IF;
    IF known.layout <> layout AND lost THEN
        RAISE EXCEPTION 'shard % had ids of layout "%", and how far they went is not known', shard, known.layout
            USING ERRCODE = '55000', DETAIL = format('In layout "%s" they might come again.', layout),
                HINT = format('SELECT create_shard(%s, layout => %L); or take another number.', shard, known.layout);
    END IF;
    IF known.layout <> layout AND known.floor > shardid.first_id(shard::bigint, layout, NULL::bigint) THEN
        RAISE EXCEPTION 'shard % had ids of layout "%" that are far above those of layout "%"', shard, known.layout, layout
            USING ERRCODE = '55000', DETAIL = format('The last one was %s, and no id comes again.', known.floor),
                HINT = format('SELECT create_shard(%s, layout => %L); or take another number.', shard, known.layout);
    END IF;
    IF above IS NOT NULL THEN
        furthest := shardid.id_at(clock_timestamp() + current_setting('shardid.max_drift')::interval, layout);
        IF above >= furthest THEN
            RAISE EXCEPTION 'ids of layout "%" are not above % yet', layout, above
                USING ERRCODE = '22003', DETAIL = format('An id of now, shardid.max_drift ahead of the clock, is %s.', furthest),
                    HINT = CASE WHEN above < shardid.id_at(clock_timestamp() + interval '1 hour', layout)
                        THEN 'If it is an id of this layout, try again in a moment, or SET shardid.max_drift; else take' ELSE 'Take' END
                        || ' a layout whose ids are larger, with an earlier epoch: SELECT name, id_at(now(), name) FROM shardid.layouts;';
        END IF;
    END IF;
    -- The map of a cluster would not know it, and another node might make it too.
    IF EXISTS (SELECT FROM shardid.cluster c WHERE c.shards <= create_shard.shard) THEN
        RAISE EXCEPTION 'shard % is not one of the cluster that this node is in', shard
            USING ERRCODE = '55000', DETAIL = (SELECT format('Cluster "%s" has shards 0 to %s.', c.name, c.shards - 1) FROM shardid.cluster c),
                HINT = 'SELECT * FROM shardid.cluster; a database of its own can have shards of its own.';
    END IF;
    -- A next_id() that is not ours, and the extension's own, must not be replaced.
    PERFORM shardid.check_next_id(shard, path, to_regclass(format('%I.shard_id_seq', path)));
    IF to_regnamespace(quote_ident(path)) IS NULL THEN
        EXECUTE format('CREATE SCHEMA %I', path);
    END IF;
    -- A table may have had an id sequence of this shard, and go on with the shard itself.
    SELECT * INTO before FROM shardid.dropped_before(shard, layout);
    generator := shardid.create_generator(path, 'shard_id_seq'::name, shard, layout, greatest(known.floor, above, before.floor),
        known.shard IS NOT NULL OR before.replaces);
    EXECUTE format('COMMENT ON SEQUENCE %s IS %L', generator,
        format('id generator of shard %s (layout %s): use next_id(%s)', shard, layout, shard));
    -- It names the sequence, so that it depends on it, here and in what a dump is restored to.
    EXECUTE format('CREATE OR REPLACE FUNCTION %I.next_id() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL RESTRICTED RETURN shardid.next_id(%s, %L::regclass)',
        path, shard, generator::oid);
    -- Once more: one may have come while the sequence was waited for, and is still its owner's.
    PERFORM shardid.check_next_id(shard, path, generator);
    EXECUTE format('COMMENT ON FUNCTION %I.next_id() IS %L', path, format('a new id on shard %s', shard));
    INSERT INTO shardid.shard AS s (shard, layout, sequence) VALUES (shard, layout, generator)
        ON CONFLICT ON CONSTRAINT shard_pkey DO UPDATE
        SET layout = EXCLUDED.layout, sequence = EXCLUDED.sequence, state = 'open';
    RETURN generator;
END
$$;
COMMENT ON FUNCTION shardid.create_shard(integer, name, text, boolean, bigint) IS 'create_shard()';

CREATE FUNCTION @extschema@.create_shard(
    shard integer, schema name DEFAULT NULL, layout text DEFAULT 'instagram',
    if_not_exists boolean DEFAULT false, above bigint DEFAULT NULL
) RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.create_shard(shard, schema, layout, if_not_exists, above);
COMMENT ON FUNCTION @extschema@.create_shard(integer, name, text, boolean, bigint) IS
    'make a shard: its schema if absent, the sequence shard_id_seq and the function next_id() in it; above: an id that its ids begin above; returns the sequence';

CREATE FUNCTION shardid.refuse_transaction_block() RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'refuse_transaction_block_wrapper';
COMMENT ON FUNCTION shardid.refuse_transaction_block() IS
    'refuses to go on inside BEGIN and COMMIT, for what commits by itself';

-- Each shard locks some objects, and one transaction may lock some thousands. What commits
-- can have no search_path of its own, so every name is written out here.
CREATE PROCEDURE shardid.create_shards("from" integer, "to" integer, layout text DEFAULT 'instagram')
LANGUAGE plpgsql AS $$
BEGIN
    IF "from" IS NULL OR "to" IS NULL THEN
        RAISE EXCEPTION 'create_shards() needs the first and the last shard'
            USING ERRCODE = '22004', HINT = 'CALL shardid.create_shards(0, 1023);';
    END IF;
    PERFORM shardid.refuse_transaction_block();
    FOR shard IN "from" .. "to" LOOP
        PERFORM shardid.create_shard(shard, NULL::pg_catalog.name, layout, true, NULL::pg_catalog.int8);
        IF pg_catalog.mod(shard, 100) OPERATOR(pg_catalog.=) 0 THEN
            COMMIT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE shardid.create_shards(integer, integer, text) IS
    'make many shards, those that are there being left as they are; commits after every hundred';

CREATE FUNCTION shardid.drop_shard(shard integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.shard;
    made regprocedure[];
    last bigint;
    has_passed boolean;
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
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known.sequence AND NOT pg_has_role(c.relowner, 'USAGE')) THEN
        RAISE EXCEPTION 'must be owner of sequence %', known.sequence
            USING ERRCODE = '42501', DETAIL = format('It is the generator of shard %s.', shard), HINT = 'SET ROLE to its owner first.';
    END IF;
    made := ARRAY(SELECT f FROM shardid.next_id_functions(shard, known.sequence::regclass) f);
    PERFORM shardid.check_unused(format('shard %s', shard), known.sequence::oid, made::oid[], e.of_shards, shard::text,
            -- What takes an id from the only shard would have none.
            CASE WHEN NOT EXISTS (SELECT FROM shardid.shard s
                WHERE s.shard <> drop_shard.shard AND s.sequence IS NOT NULL AND s.state <> 'dropped') THEN e.of_any END)
        FROM shardid.entries() e;
    SELECT string_agg(DISTINCT s.sequence::text, ', ') INTO used
        FROM shardid.id_sequence s JOIN pg_class c ON c.oid = s.sequence
        WHERE s.shard = drop_shard.shard;
    IF used IS NOT NULL THEN
        RAISE EXCEPTION 'shard % cannot be dropped because id sequences belong to it', shard
            USING ERRCODE = '2BP01', DETAIL = format('Sequences: %s.', used), HINT = 'DROP SEQUENCE ...; first.';
    END IF;
    -- The row remembers how far ids went. Where the row goes too, by DROP EXTENSION, the
    -- clock must do: a shard made then begins at what it reads. Most of it without a lock.
    IF shardid.is_generator(known.sequence::regclass, shard, known.layout) THEN
        PERFORM shardid.wait_for_clock(shardid.last_id_at_most(known.sequence::regclass, shard::bigint, known.layout), known.layout);
    END IF;
    -- The trigger on this row waits until nobody takes ids from the sequence any more.
    UPDATE shardid.shard s SET state = 'dropped' WHERE s.shard = drop_shard.shard;
    FOR i IN 1 .. cardinality(made) LOOP
        -- It may have gone with the sequence while that was waited for.
        IF made[i]::text !~ '^[0-9]+$' THEN
            EXECUTE format('DROP FUNCTION %s', made[i]);
        END IF;
    END LOOP;
    IF shardid.is_generator(known.sequence::regclass, shard, known.layout) THEN
        last := shardid.last_id_at_most(known.sequence::regclass, shard::bigint, known.layout);
        has_passed := shardid.wait_for_clock(last, known.layout);
        PERFORM shardid.drop_sequence(known.sequence::regclass);
    ELSIF known.state <> 'moved' THEN
        -- It went with its schema, or is not ours: ids may have reached up to the horizon.
        last := shardid.last_id_at_most(NULL::regclass, shard::bigint, known.layout);
        has_passed := shardid.wait_for_clock(last, known.layout);
    END IF;
    UPDATE shardid.shard s SET sequence = NULL, floor = greatest(known.floor, last)
        WHERE s.shard = drop_shard.shard;
    -- As long as the extension is there it remembers that.
    IF NOT has_passed THEN
        RAISE WARNING 'ids of shard % go on until %', shard, shardid.slot_end(last, known.layout)
            USING DETAIL = format('Its last id is not above %s.', last),
                HINT = 'DROP EXTENSION forgets it: do not make the shard again after one before that time.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.drop_shard(integer) IS 'drop_shard()';

CREATE FUNCTION @extschema@.drop_shard(shard integer) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.drop_shard(shard);
COMMENT ON FUNCTION @extschema@.drop_shard(integer) IS
    'forget a shard and drop its sequence, once the clock has passed its last id; its schema and tables stay, and its ids never come again';

CREATE FUNCTION shardid.create_id_sequence(
    name text, home name, shard integer, layout text, if_not_exists boolean
) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[];
    generator regclass;
    known shardid.id_sequence;
    before record;
    dropped record;
BEGIN
    BEGIN
        parts := parse_ident(nullif(name, ''));
    EXCEPTION WHEN invalid_parameter_value THEN
        -- Said below.
    END;
    IF cardinality(parts) = 1 THEN
        IF home IS NULL THEN
            RAISE EXCEPTION 'no schema has been selected to create sequence "%" in', parts[1]
                USING ERRCODE = '3F000', DETAIL = 'The schemas in search_path do not exist, or there are none.',
                    HINT = format('Name the schema: SELECT create_id_sequence(%L, %s);', 'public.' || quote_ident(parts[1]), coalesce(shard::text, 'shard'));
        END IF;
        parts := ARRAY[home::text, parts[1]];
    END IF;
    IF cardinality(parts) IS DISTINCT FROM 2 OR parts[1] IS NULL OR '' = ANY (parts) THEN
        RAISE EXCEPTION '"%" is not the name of a sequence', name
            USING ERRCODE = '42602', HINT = 'Give a name, or schema.name; in double quotes where it has other characters than a-z, 0-9 and _.';
    END IF;
    IF octet_length(parts[1]) > 63 OR octet_length(parts[2]) > 63 THEN
        RAISE EXCEPTION 'the name of a sequence is too long: "%"', name
            USING ERRCODE = '42622', DETAIL = 'Names have at most 63 bytes.', HINT = 'Take a shorter one.';
    END IF;
    PERFORM shardid.check_schema(parts[1]::name);
    IF to_regnamespace(quote_ident(parts[1])) IS NULL THEN
        RAISE EXCEPTION 'schema "%" does not exist', parts[1]
            USING ERRCODE = '3F000', DETAIL = format('Sequence "%s" was to be made in it.', parts[2]), HINT = format('CREATE SCHEMA %I;', parts[1]);
    END IF;
    -- Two sessions that make one sequence: the second waits here, and then sees the first one's.
    PERFORM shardid.lock_number('shardid.id_sequence'::regclass, hashtext(format('%I.%I', parts[1], parts[2])), true);
    SELECT * INTO known FROM shardid.id_sequence s WHERE s.sequence = to_regclass(format('%I.%I', parts[1], parts[2]));
    IF FOUND AND if_not_exists AND (known.shard, known.layout) = (shard, layout) THEN
        RETURN known.sequence;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'id sequence % exists already', known.sequence
            USING ERRCODE = '42710', DETAIL = format('It is of shard %s, with layout "%s".', known.shard, known.layout),
                HINT = 'SELECT * FROM shardid.id_sequence;';
    END IF;
    -- One of this shard that was dropped may have been this table's.
    SELECT * INTO before FROM shardid.dropped_before(shard, layout);
    -- Or it was the shard's own, which is dropped and has not forgotten how far its ids went; or is lost, with its schema,
    -- as create_shard() has it.
    SELECT max(s.floor) AS floor, count(*) > 0 AS is_there INTO dropped FROM shardid.shard s
        WHERE s.shard = create_id_sequence.shard AND s.layout = create_id_sequence.layout
            AND (s.state = 'dropped' OR s.state = 'open' AND (s.sequence::regclass::text ~ '^[0-9]+$'
                OR NOT shardid.is_generator(s.sequence::regclass, s.shard, s.layout)));
    generator := shardid.create_generator(parts[1]::name, parts[2]::name, shard, layout, greatest(before.floor, dropped.floor),
        before.replaces OR dropped.is_there);
    INSERT INTO shardid.id_sequence VALUES (generator, shard, layout);
    -- Here, so that whoever drops it has a row to write to.
    INSERT INTO shardid.dropped_id_sequence (shard, layout) SELECT create_id_sequence.shard, create_id_sequence.layout
        WHERE NOT EXISTS (SELECT FROM shardid.dropped_id_sequence d
            WHERE (d.shard, d.layout) = (create_id_sequence.shard, create_id_sequence.layout))
        ON CONFLICT ON CONSTRAINT dropped_id_sequence_pkey DO NOTHING;
    RETURN generator;
END
$$;
COMMENT ON FUNCTION shardid.create_id_sequence(text, name, integer, text, boolean) IS
    'create_id_sequence(); home: the schema of a name that does not say one';

-- No search_path here: the name is looked up where the caller would have it made.
CREATE FUNCTION @extschema@.create_id_sequence(
    name text, shard integer, layout text DEFAULT 'instagram', if_not_exists boolean DEFAULT false
) RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.create_id_sequence(name, current_schema(), shard, layout, if_not_exists);
COMMENT ON FUNCTION @extschema@.create_id_sequence(text, integer, text, boolean) IS
    'make an id generator of its own, for one table: sequence name, shard, layout; ids by next_id_from()';

-- ---------------------------------------------------------------------------
-- reading ids
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.id_time(id bigint) RETURNS timestamptz
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_time_wrapper';
COMMENT ON FUNCTION @extschema@.id_time(bigint) IS 'when an id was made, to the tick';

CREATE FUNCTION @extschema@.id_time(id bigint, layout text) RETURNS timestamptz
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_time_in_wrapper';
COMMENT ON FUNCTION @extschema@.id_time(bigint, text) IS 'when an id of that layout was made, to the tick';

CREATE FUNCTION @extschema@.id_shard(id bigint) RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_shard_wrapper';
COMMENT ON FUNCTION @extschema@.id_shard(bigint) IS 'the shard an id was made on';

CREATE FUNCTION @extschema@.id_shard(id bigint, layout text) RETURNS integer
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_shard_in_wrapper';
COMMENT ON FUNCTION @extschema@.id_shard(bigint, text) IS 'the shard an id of that layout was made on';

CREATE FUNCTION @extschema@.id_slot(id bigint) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_slot_wrapper';
COMMENT ON FUNCTION @extschema@.id_slot(bigint) IS 'the number of an id within its shard and tick';

CREATE FUNCTION @extschema@.id_slot(id bigint, layout text) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_slot_in_wrapper';
COMMENT ON FUNCTION @extschema@.id_slot(bigint, text) IS 'the number of an id of that layout within its shard and tick';

CREATE FUNCTION @extschema@.id_parts(id bigint, OUT "time" timestamptz, OUT shard integer, OUT slot bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (@extschema@.id_time(id), @extschema@.id_shard(id), @extschema@.id_slot(id));
COMMENT ON FUNCTION @extschema@.id_parts(bigint) IS 'time, shard and slot of an id';

CREATE FUNCTION @extschema@.id_parts(id bigint, layout text, OUT "time" timestamptz, OUT shard integer, OUT slot bigint)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (@extschema@.id_time(id, layout), @extschema@.id_shard(id, layout), @extschema@.id_slot(id, layout));
COMMENT ON FUNCTION @extschema@.id_parts(bigint, text) IS 'time, shard and slot of an id of that layout';

-- ---------------------------------------------------------------------------
-- time ranges
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.id_at("time" timestamptz) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_at_wrapper';
COMMENT ON FUNCTION @extschema@.id_at(timestamptz) IS 'the lowest id of that instant: WHERE id >= id_at(now() - interval ''1 day'')';

CREATE FUNCTION @extschema@.id_at("time" timestamptz, layout text) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_at_in_wrapper';
COMMENT ON FUNCTION @extschema@.id_at(timestamptz, text) IS 'the lowest id of that instant in that layout';

CREATE FUNCTION shardid.create_id_partitions(
    parent regclass, "from" timestamptz, until timestamptz, every interval, layout text
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
            USING ERRCODE = '42809', HINT = 'CREATE TABLE ... (id bigint ...) PARTITION BY RANGE (id);';
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
        first := shardid.id_at(lower, layout);
        beyond := shardid.id_at(upper, layout);
        IF first >= beyond THEN
            RAISE EXCEPTION 'layout "%" has no ids between % and %', layout, lower, upper
                USING ERRCODE = '22003', HINT = 'Begin after its epoch, and with at least one tick: SELECT name, epoch, tick FROM shardid.layouts;';
        END IF;
        part := concat(base, '_p', to_char(CASE WHEN days THEN lower::timestamp ELSE lower AT TIME ZONE 'UTC' END, pattern));
        IF octet_length(part) > 63 THEN
            RAISE EXCEPTION 'a partition''s name would be too long: %', part
                USING ERRCODE = '42622', DETAIL = 'Names have at most 63 bytes.', HINT = format('ALTER TABLE %s RENAME TO ...;', parent);
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
COMMENT ON FUNCTION shardid.create_id_partitions(regclass, timestamptz, timestamptz, interval, text) IS
    'create_id_partitions()';

CREATE FUNCTION @extschema@.create_id_partitions(
    parent regclass, "from" timestamptz, until timestamptz, every interval,
    layout text DEFAULT 'instagram'
) RETURNS SETOF regclass
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT made FROM shardid.create_id_partitions(parent, "from", until, every, layout) AS made;
END;
COMMENT ON FUNCTION @extschema@.create_id_partitions(regclass, timestamptz, timestamptz, interval, text) IS
    'make RANGE partitions of a table by the time in its ids; those that exist are skipped; returns the new ones';

-- ---------------------------------------------------------------------------
-- other faces of an id
-- ---------------------------------------------------------------------------

CREATE FUNCTION @extschema@.id_text(id bigint) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_text_wrapper';
COMMENT ON FUNCTION @extschema@.id_text(bigint) IS 'an id as 13 characters of Crockford base 32, which sort like the number';

CREATE FUNCTION @extschema@.id_from_text(text text) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'id_from_text_wrapper';
COMMENT ON FUNCTION @extschema@.id_from_text(text) IS 'the id of a text made by id_text()';

CREATE FUNCTION @extschema@.conceal_id(id bigint, key bytea) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'conceal_id_wrapper';
COMMENT ON FUNCTION @extschema@.conceal_id(bigint, bytea) IS
    'a keyed one-to-one scrambling of an id, for outsiders who must not count; key: 16 random bytes or more';

CREATE FUNCTION @extschema@.reveal_id(id bigint, key bytea) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'reveal_id_wrapper';
COMMENT ON FUNCTION @extschema@.reveal_id(bigint, bytea) IS 'the id that conceal_id() has scrambled with that key';

-- ---------------------------------------------------------------------------
-- which shard a key belongs to
-- ---------------------------------------------------------------------------

CREATE FUNCTION shardid.shard_of(hash bytea, shards integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF shards < 1 THEN
        RAISE EXCEPTION 'a key cannot belong to one of % shards', shards
            USING ERRCODE = '22023', HINT = 'Give the number of shards: SELECT shard_for(''key'', 8192);';
    END IF;
    RETURN ('x' || substr(encode(hash, 'hex'), 1, 15))::bit(60)::bigint % shards;
END
$$;
COMMENT ON FUNCTION shardid.shard_of(bytea, integer) IS 'the first 60 bits of a hash, modulo the number of shards';

CREATE FUNCTION @extschema@.shard_for(key text, shards integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN shardid.shard_of(sha256(convert_to(key, 'UTF8')), shards);
COMMENT ON FUNCTION @extschema@.shard_for(text, integer) IS
    'the shard, 0 to shards - 1, that a key belongs to: by SHA-256 of its UTF-8';

CREATE FUNCTION @extschema@.shard_for(key bigint, shards integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN shardid.shard_of(sha256(convert_to(key::text, 'UTF8')), shards);
COMMENT ON FUNCTION @extschema@.shard_for(bigint, integer) IS
    'the shard, 0 to shards - 1, that a key belongs to: that of its decimal digits as text';

CREATE FUNCTION @extschema@.shard_for(key uuid, shards integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN shardid.shard_of(sha256(convert_to(key::text, 'UTF8')), shards);
COMMENT ON FUNCTION @extschema@.shard_for(uuid, integer) IS
    'the shard, 0 to shards - 1, that a key belongs to: that of its 36 characters as text';

CREATE FUNCTION @extschema@.shard_for(key bytea, shards integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN shardid.shard_of(sha256(key), shards);
COMMENT ON FUNCTION @extschema@.shard_for(bytea, integer) IS
    'the shard, 0 to shards - 1, that a key belongs to: by SHA-256';

-- ---------------------------------------------------------------------------
-- tickets
-- ---------------------------------------------------------------------------

CREATE FUNCTION shardid.history() RETURNS text
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
RETURN CASE WHEN NOT pg_is_in_recovery() THEN
    concat((SELECT c.system_identifier FROM pg_control_system() c), '/', left(pg_walfile_name(pg_current_wal_lsn()), 8),
        '/', (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())) END;
COMMENT ON FUNCTION shardid.history() IS
    'server, timeline and database that numbers are handed out on: others after a restore or a promotion; null on a standby';

-- A ticket is a sequence in schema shardid_tickets, which belongs to whoever made
-- it, like the sequences of shards: a dump carries it with its numbers, and
-- DROP EXTENSION leaves it. The row says what a sequence cannot.
CREATE TABLE shardid.ticket (
    name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
    sequence shardid.regsequence,
    server integer NOT NULL CHECK (server >= 1),
    servers integer NOT NULL CHECK (servers >= server AND servers <= 1000),
    floor bigint NOT NULL DEFAULT 0 CHECK (floor >= 0),
    ceiling bigint CHECK (ceiling >= 1),
    last_gapless bigint,
    history text DEFAULT shardid.history()
);
COMMENT ON TABLE shardid.ticket IS 'tickets of this server; made by create_ticket(), read through shardid.tickets';
COMMENT ON COLUMN shardid.ticket.sequence IS 'where the numbers come from; null where it was dropped';
COMMENT ON COLUMN shardid.ticket.server IS 'which of the servers that share the ticket this is: its numbers are server, server + servers, ...';
COMMENT ON COLUMN shardid.ticket.servers IS 'how many servers share the ticket';
COMMENT ON COLUMN shardid.ticket.floor IS 'every number of the present server and servers is above it';
COMMENT ON COLUMN shardid.ticket.ceiling IS 'no number at or above it may be handed out, while the servers of the ticket change';
COMMENT ON COLUMN shardid.ticket.last_gapless IS 'the last number of a ticket that is used by next_ticket_gapless(); null for all others';
COMMENT ON COLUMN shardid.ticket.history IS 'shardid.history() when the ticket was made or raised: where it is another now, the last numbers may be forgotten';

CREATE TRIGGER row_restored BEFORE INSERT ON shardid.ticket
    FOR EACH ROW EXECUTE FUNCTION shardid.row_restored();
CREATE TRIGGER row_there BEFORE INSERT ON shardid.ticket
    FOR EACH ROW EXECUTE FUNCTION shardid.row_there();
CREATE TRIGGER generator_changed AFTER INSERT OR DELETE ON shardid.ticket
    FOR EACH ROW EXECUTE FUNCTION shardid.generator_changed();
-- A gapless number changes nothing that a session keeps, but for the first one.
CREATE TRIGGER generator_changes AFTER UPDATE ON shardid.ticket
    FOR EACH ROW WHEN ((OLD.sequence, OLD.server, OLD.servers, OLD.floor, OLD.ceiling, OLD.last_gapless IS NULL)
        IS DISTINCT FROM (NEW.sequence, NEW.server, NEW.servers, NEW.floor, NEW.ceiling, NEW.last_gapless IS NULL))
    EXECUTE FUNCTION shardid.generator_changed();

-- Which server this is, for the program: a copy has the same instance, and a
-- backup an old mark.
CREATE TABLE shardid.server (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    instance text NOT NULL DEFAULT gen_random_uuid()::text,
    mark text,
    marked_at timestamptz
);
-- The program makes the row with its first mark: one that came with the extension would be in
-- the way of pg_restore -a --disable-triggers.
COMMENT ON TABLE shardid.server IS 'at most one row: what the program shardid knows this database again by';
COMMENT ON COLUMN shardid.server.instance IS 'made with the row; a copy or a restored dump has that of its original';
COMMENT ON COLUMN shardid.server.mark IS 'what the program wrote here and in its catalog when it last looked: an old one is that of a backup';
COMMENT ON COLUMN shardid.server.marked_at IS 'when it did';

CREATE FUNCTION shardid.server_replaced() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM shardid.server;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION shardid.server_replaced() IS
    'has the row of a restored dump take the place of the one that is there';

CREATE TRIGGER server_replaced BEFORE INSERT ON shardid.server
    FOR EACH ROW EXECUTE FUNCTION shardid.server_replaced();

SELECT pg_catalog.pg_extension_config_dump('shardid.ticket', '');
SELECT pg_catalog.pg_extension_config_dump('shardid.server', '');

CREATE FUNCTION @extschema@.next_ticket(name text) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'next_ticket_wrapper';
COMMENT ON FUNCTION @extschema@.next_ticket(text) IS 'the next number of a ticket; not undone by a rollback';

CREATE FUNCTION @extschema@.next_tickets(name text, count integer) RETURNS SETOF bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 1 AS 'MODULE_PATHNAME', 'shardid_next_tickets';
COMMENT ON FUNCTION @extschema@.next_tickets(text, integer) IS 'the next numbers of a ticket, 1 to 1,000,000 of them, taken at once';

CREATE FUNCTION @extschema@.next_ticket_gapless(name text) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'next_ticket_gapless_wrapper';
COMMENT ON FUNCTION @extschema@.next_ticket_gapless(text) IS
    'the next number of a ticket without gaps: waits for other transactions that took one, and is undone by a rollback';

CREATE FUNCTION shardid.entries(OUT of_shards oid[], OUT of_tickets oid[], OUT of_any oid[])
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (ARRAY['@extschema@.next_id(bigint)'::regprocedure::oid, 'shardid.next_id(integer)'::regprocedure::oid,
        '@extschema@.next_ids(bigint, integer)'::regprocedure::oid, 'shardid.next_ids(integer, integer)'::regprocedure::oid],
    ARRAY['@extschema@.next_ticket(text)'::regprocedure::oid, '@extschema@.next_tickets(text, integer)'::regprocedure::oid,
        '@extschema@.next_ticket_gapless(text)'::regprocedure::oid],
    ARRAY['@extschema@.next_id()'::regprocedure::oid]);
COMMENT ON FUNCTION shardid.entries() IS
    'the functions that name a shard or a ticket first, and those that take any shard, whatever their schema is called now';

CREATE FUNCTION shardid.ticket_at_or_below(server integer, servers integer, number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN number - mod(mod(number, servers::bigint) - server + 2 * servers, servers::bigint);
COMMENT ON FUNCTION shardid.ticket_at_or_below(integer, integer, bigint) IS
    'the highest number of a server''s at or below that one, which is not negative';

CREATE FUNCTION shardid.ticket_last(known shardid.ticket) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last bigint := known.last_gapless;
BEGIN
    IF last IS NULL THEN
        -- From the page: what is called is the last one, what is not is the next one.
        SELECT CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END INTO last
            FROM shardid.read_sequence(known.sequence::oid) s;
    END IF;
    RETURN greatest(last, known.floor);
END
$$;
COMMENT ON FUNCTION shardid.ticket_last(shardid.ticket) IS
    'the last number that a ticket has handed out, or its floor';

CREATE FUNCTION shardid.known_ticket(name text) RETURNS shardid.ticket
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.ticket;
BEGIN
    SELECT * INTO known FROM shardid.ticket t WHERE t.name = known_ticket.name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'ticket "%" does not exist', coalesce(name, 'null')
            USING ERRCODE = '42704', HINT = format('SELECT create_ticket(%L);', coalesce(name, 'photos'));
    END IF;
    RETURN known;
END
$$;
COMMENT ON FUNCTION shardid.known_ticket(text) IS 'the row of a ticket, locked until the transaction ends';

CREATE FUNCTION shardid.check_ticket_there(known shardid.ticket, code text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last bigint := CASE WHEN known.last_gapless IS NOT NULL THEN greatest(known.last_gapless, known.floor) END;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = known.sequence AND s.seqmin = -1000) THEN
        RAISE EXCEPTION 'the sequence of ticket "%" was dropped', known.name
            USING ERRCODE = code, DETAIL = CASE WHEN last IS NULL THEN 'How far its numbers went is not known any more.'
                    ELSE format('Its last number was %s.', last) END,
                HINT = CASE WHEN last IS NULL THEN 'With a number above all of them: ' ELSE '' END
                    || format('SELECT shardid.create_ticket_above(%L, %s, %s, %s);', known.name, known.server, known.servers, coalesce(last::text, '...'));
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_ticket_there(shardid.ticket, text) IS
    'says how a ticket is made again whose sequence was dropped';

CREATE FUNCTION shardid.hold_ticket(known shardid.ticket) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM shardid.check_ticket_there(known, '55000'::text);
    -- This waits for the transactions that have taken numbers and keeps others out, as every
    -- ALTER SEQUENCE does. It also has the commit flushed whatever synchronous_commit says,
    -- since it removes the file before: who is told that a ticket was changed must be right
    -- after a crash, too.
    PERFORM shardid.alter_sequence(known.sequence::regclass, 'NO CYCLE'::text);
END
$$;
COMMENT ON FUNCTION shardid.hold_ticket(shardid.ticket) IS
    'waits until no transaction takes numbers from a ticket, and keeps others from it until this one ends';

CREATE FUNCTION shardid.check_room(known shardid.ticket, following numeric) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    most bigint := (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = known.sequence);
BEGIN
    IF following > most THEN
        RAISE EXCEPTION 'ticket "%" has not enough numbers left', known.name
            USING ERRCODE = '22003', DETAIL = format('It stands at %s; its sequence ends at %s.', greatest(known.last_gapless, known.floor), most),
                HINT = CASE WHEN most < 9223372036854775807 THEN format('ALTER SEQUENCE %s AS bigint NO MAXVALUE RESTART 9223372036854775807;', known.sequence)
                    ELSE 'Make another ticket.' END;
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_room(shardid.ticket, numeric) IS
    'refuses a gapless number that is beyond the end of its ticket''s sequence';

CREATE FUNCTION shardid.set_ticket(changed shardid.ticket, last bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    below bigint := shardid.ticket_at_or_below(changed.server, changed.servers, last);
    lowest bigint := shardid.ticket_at_or_below(changed.server, changed.servers, changed.floor);
    most bigint;
    top bigint;
BEGIN
    IF changed.last_gapless IS NULL THEN
        -- All in a new file, so that it counts with the commit, and is undone with it.
        -- An end below its type's is somebody's choice, unless it is that of a ceiling from before.
        SELECT CASE WHEN EXISTS (SELECT FROM shardid.ticket t WHERE t.name = changed.name AND t.ceiling IS NULL) THEN s.seqmax
            WHEN s.seqtypid = 'integer'::regtype THEN 2147483647 WHEN s.seqtypid = 'smallint'::regtype THEN 32767
            ELSE 9223372036854775807 END INTO most FROM pg_sequence s WHERE s.seqrelid = changed.sequence;
        IF below >= most THEN
            RAISE EXCEPTION 'ticket "%" has not enough numbers left', changed.name
                USING ERRCODE = '22003', DETAIL = format('Its sequence ends at %s; the next number is to be above %s.', most, last),
                    HINT = format('ALTER SEQUENCE %s AS bigint NO MAXVALUE;', changed.sequence);
        END IF;
        top := most;
        IF changed.ceiling <= most THEN
            top := greatest(below, shardid.ticket_at_or_below(changed.server, changed.servers, changed.ceiling - 1));
        END IF;
        PERFORM shardid.alter_sequence(changed.sequence::regclass,
            format('INCREMENT %s MINVALUE -1000 MAXVALUE %s START %s RESTART CACHE 1 NO CYCLE', changed.servers, top,
                CASE WHEN lowest <= top - changed.servers THEN lowest + changed.servers ELSE top END));
        PERFORM setval(changed.sequence, below);
    ELSE
        PERFORM shardid.check_room(changed, below);
        changed.last_gapless := below;
    END IF;
    UPDATE shardid.ticket t
        SET server = changed.server, servers = changed.servers, floor = changed.floor,
            ceiling = changed.ceiling, last_gapless = changed.last_gapless
        WHERE t.name = changed.name;
END
$$;
COMMENT ON FUNCTION shardid.set_ticket(shardid.ticket, bigint) IS
    'has a held ticket go on as that row says, above that last number';

CREATE FUNCTION shardid.make_ticket(name text, server integer, servers integer, floor bigint, if_not_exists boolean) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    path text := 'shardid_tickets.' || quote_ident(name);
    numbers regclass;
    made shardid.ticket;
    last bigint := floor;
BEGIN
    PERFORM shardid.check_ticket(name, server, servers, floor);
    -- One at a time: two sessions that make one ticket, or the first two tickets.
    PERFORM shardid.lock_number('shardid.ticket'::regclass, 0, true);
    SELECT * INTO made FROM shardid.ticket t WHERE t.name = make_ticket.name;
    IF FOUND THEN
        PERFORM shardid.check_ticket_there(made, '42710'::text);
        IF if_not_exists AND (made.server, made.servers) = (server, servers) THEN
            RETURN made.sequence;
        END IF;
        RAISE EXCEPTION 'ticket "%" exists already', name
            USING ERRCODE = '42710', DETAIL = format('Here it is server %s of %s.', made.server, made.servers),
                HINT = 'SELECT * FROM shardid.tickets;';
    END IF;
    IF to_regnamespace('shardid_tickets') IS NULL THEN
        CREATE SCHEMA shardid_tickets;
        -- As with public: what it takes to use a ticket is said at its sequence.
        GRANT USAGE ON SCHEMA shardid_tickets TO PUBLIC;
        COMMENT ON SCHEMA shardid_tickets IS 'sequences of tickets, made by create_ticket()';
    END IF;
    PERFORM shardid.check_home('shardid_tickets'::regnamespace, 'shardid.ticket'::regclass);
    numbers := to_regclass(path);
    IF numbers IS NULL THEN
        EXECUTE format('CREATE SEQUENCE %s AS bigint INCREMENT %s MINVALUE -1000 START %s', path, servers, server);
        numbers := path::regclass;
    ELSE
        -- Left by an extension that was dropped: go on above its numbers.
        PERFORM shardid.check_owner(numbers, 'shardid.ticket'::regclass);
        PERFORM shardid.hold_sequence(numbers::oid);
        PERFORM shardid.check_name(numbers, path);
        PERFORM shardid.check_owner(numbers, 'shardid.ticket'::regclass);
        IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = numbers
            AND s.seqmin = -1000 AND s.seqincrement = servers AND mod(s.seqstart - server, servers) = 0)
        THEN
            RAISE EXCEPTION 'relation % exists already and is not a ticket of server % of %', path, server, servers
                USING ERRCODE = '42P07', HINT = coalesce(
                    (SELECT format('It has the numbers of server %s of %s: SELECT create_ticket(%L, %1$s, %2$s);', mod(s.seqstart - 1, s.seqincrement) + 1, s.seqincrement, name)
                        FROM pg_sequence s WHERE s.seqrelid = numbers AND s.seqmin = -1000 AND s.seqstart > 0 AND s.seqincrement BETWEEN 1 AND 1000),
                    format('Rename what is there: %s RENAME TO ...;', shardid.alter_command(numbers)));
        END IF;
        SELECT greatest(CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END, floor) INTO last
            FROM shardid.read_sequence(numbers::oid) s;
        -- One of a gapless ticket stands there, and only the row that is gone said how far it was;
        -- or it was kept below a ceiling, and what is above belongs to other servers.
        IF (SELECT last >= s.seqmax OR s.seqmax < CASE s.seqtypid WHEN 'integer'::regtype THEN 2147483647
            WHEN 'smallint'::regtype THEN 32767 ELSE 9223372036854775807 END FROM pg_sequence s WHERE s.seqrelid = numbers)
        THEN
            RAISE EXCEPTION 'sequence % exists already and was a gapless ticket''s, or was kept below a number, or is at its end', path
                USING ERRCODE = '55000', DETAIL = 'It does not say which numbers were handed out, or may be.',
                    HINT = format('Rename it: %s RENAME TO ...; then, above the highest number that was handed out: SELECT shardid.create_ticket_above(%L, %s, %s, highest);',
                        shardid.alter_command(numbers), name, server, servers);
        END IF;
    END IF;
    EXECUTE format('COMMENT ON SEQUENCE %s IS %L', path,
        format('numbers of ticket %s: use next_ticket(%L)', name, name));
    -- Where another session has made it since this transaction's snapshot, this says that it is to be tried again.
    INSERT INTO shardid.ticket AS t (name, sequence, server, servers, floor)
        VALUES (name, numbers, server, servers, floor) ON CONFLICT ON CONSTRAINT ticket_pkey DO NOTHING RETURNING * INTO made;
    UPDATE shardid.ticket t SET history = shardid.history() WHERE t.name = make_ticket.name;
    PERFORM shardid.set_ticket(made, last);
    RETURN made.sequence;
END
$$;
COMMENT ON FUNCTION shardid.make_ticket(text, integer, integer, bigint, boolean) IS
    'makes a ticket: its sequence and its row';

CREATE FUNCTION shardid.check_ticket(name text, server integer, servers integer, floor bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF name IS NULL OR name = '' OR server IS NULL OR servers IS NULL OR floor IS NULL THEN
        RAISE EXCEPTION 'a ticket needs a name, a server, how many servers there are, and a floor'
            USING ERRCODE = '22004', HINT = 'SELECT create_ticket(''photos'', 1, 2);';
    END IF;
    IF octet_length(name) > 63 THEN
        RAISE EXCEPTION 'the name of a ticket is too long: "%"', name
            USING ERRCODE = '42622', DETAIL = 'It is the name of a sequence, and those have at most 63 bytes.',
                HINT = 'Take a shorter one.';
    END IF;
    IF server < 1 OR servers < server OR servers > 1000 THEN
        RAISE EXCEPTION 'there is no server % of %', server, servers
            USING ERRCODE = '22023', DETAIL = 'Servers are 1 to 1000, and each is one of them.',
                HINT = format('The second of three: SELECT create_ticket(%L, 2, 3);', name);
    END IF;
    IF floor < 0 OR floor > 9223372036854774807 THEN
        RAISE EXCEPTION 'no numbers are above %', floor
            USING ERRCODE = '22023', DETAIL = 'A floor is 0 to 9223372036854774807.', HINT = 'Give the highest number that was handed out, or 0.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_ticket(text, integer, integer, bigint) IS
    'refuses what is no ticket';

CREATE FUNCTION @extschema@.create_ticket(
    name text, server integer DEFAULT 1, servers integer DEFAULT 1, if_not_exists boolean DEFAULT false
) RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.make_ticket(name, server, servers, 0::bigint, if_not_exists);
COMMENT ON FUNCTION @extschema@.create_ticket(text, integer, integer, boolean) IS
    'make a ticket: numbers server, server + servers, ..., so that several servers share them out; returns its sequence';

CREATE FUNCTION shardid.note_dropped() RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'note_dropped_wrapper';
COMMENT ON FUNCTION shardid.note_dropped() IS
    'has the transaction take no numbers of a ticket or tag that it makes, as it has dropped one, which a rollback brings back';

CREATE FUNCTION shardid.drop_ticket(name text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.ticket := shardid.known_ticket(name);
BEGIN
    PERFORM shardid.check_unused(format('ticket "%s"', name), known.sequence::oid, ARRAY[]::oid[], e.of_tickets, name, NULL::oid[])
        FROM shardid.entries() e;
    IF EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = known.sequence AND s.seqmin = -1000) THEN
        PERFORM shardid.drop_sequence(known.sequence::regclass);
    END IF;
    DELETE FROM shardid.ticket t WHERE t.name = drop_ticket.name;
    PERFORM shardid.note_dropped();
END
$$;
COMMENT ON FUNCTION shardid.drop_ticket(text) IS 'drop_ticket()';

CREATE FUNCTION @extschema@.drop_ticket(name text) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.drop_ticket(name);
COMMENT ON FUNCTION @extschema@.drop_ticket(text) IS 'forget a ticket and drop its sequence; made again it begins anew';

CREATE FUNCTION shardid.take_gapless(name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.ticket;
    last bigint;
    following numeric;
BEGIN
    SELECT * INTO known FROM shardid.ticket t WHERE t.name = take_gapless.name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'ticket "%" does not exist', name
            USING ERRCODE = '42704', HINT = format('SELECT create_ticket(%L);', name);
    END IF;
    last := greatest(known.last_gapless, known.floor);
    IF known.last_gapless IS NULL THEN
        -- This runs with its owner's rights: whoever may write the row must not
        -- reach any sequence with them.
        IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known.sequence
            AND c.relnamespace IS DISTINCT FROM to_regnamespace('shardid_tickets'))
        THEN
            RAISE EXCEPTION 'the sequence of ticket "%" is in another schema', name
                USING ERRCODE = '55000', DETAIL = format('It is %s.', known.sequence),
                    HINT = format('ALTER SEQUENCE %s SET SCHEMA shardid_tickets;', known.sequence);
        END IF;
        PERFORM shardid.hold_ticket(known);
        -- By its number, not by its name: that may be another's by now, such as a view's that
        -- would run its owner's functions with our rights.
        last := pg_sequence_last_value(known.sequence);
        IF known.ceiling IS NULL AND EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = known.sequence AND s.seqmax = last) THEN
            RAISE EXCEPTION 'ticket "%" is gapless, and how far it went is not known here', name
                USING ERRCODE = '55000', DETAIL = 'The dump that it comes from was taken while it handed out its first number.',
                    HINT = format('Say its last number, by the table that has it: SELECT shardid.raise_ticket(%L, 1000);', name);
        END IF;
        IF last IS NULL OR last > known.floor THEN
            RAISE EXCEPTION 'ticket "%" has handed out numbers that may leave gaps', name
                USING ERRCODE = '55000',
                    DETAIL = coalesce('next_ticket() or nextval() has given numbers up to ' || last || '.',
                        'Its sequence was restarted by hand.'),
                    HINT = 'SELECT create_ticket(''another name''); and take all its numbers by next_ticket_gapless().';
        END IF;
        last := greatest(last, known.floor);
        -- From now on nextval() finds the sequence at its end.
        IF known.ceiling IS NOT NULL THEN
            PERFORM shardid.alter_sequence(known.sequence::regclass, 'NO MAXVALUE'::text);
        END IF;
        PERFORM setval(known.sequence, (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = known.sequence));
    ELSE
        -- It may have been given more room since, or set: without the row it would seem to stand there.
        PERFORM setval(s.seqrelid::regclass, s.seqmax)
            FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
            WHERE s.seqrelid = known.sequence AND s.seqmin = -1000 AND c.relnamespace = to_regnamespace('shardid_tickets')
                AND pg_sequence_last_value(s.seqrelid) IS DISTINCT FROM s.seqmax;
    END IF;
    following := shardid.ticket_at_or_below(known.server, known.servers, last)::numeric + known.servers;
    IF following >= known.ceiling THEN
        RAISE EXCEPTION 'ticket "%" ends before % on this server', name, known.ceiling
            USING ERRCODE = '55000',
                DETAIL = format('It stands at %s. Its servers are being changed, or this one was taken away.', last),
                HINT = 'Take a number from another server, and look: shardid tickets status';
    END IF;
    PERFORM shardid.check_room(known, following);
    UPDATE shardid.ticket t SET last_gapless = following WHERE t.name = take_gapless.name;
    RETURN following;
END
$$;
COMMENT ON FUNCTION shardid.take_gapless(text) IS
    'next_ticket_gapless() of a caller who may use the ticket''s sequence';

-- For the program, which changes the servers of a ticket while it is in use. Each
-- may be called twice, and tells no longer of success than a crash would remember.

CREATE FUNCTION shardid.create_ticket_above(name text, server integer, servers integer, floor bigint) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.ticket;
    numbers regclass;
BEGIN
    PERFORM shardid.check_ticket(name, server, servers, floor);
    PERFORM shardid.lock_number('shardid.ticket'::regclass, 0, true);
    SELECT * INTO known FROM shardid.ticket t WHERE t.name = create_ticket_above.name;
    IF known.name IS NOT NULL AND NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = known.sequence AND s.seqmin = -1000) THEN
        -- Its sequence is gone, and columns may use the ticket: it goes on where its row says, or above what its caller says.
        IF floor < known.floor OR floor < known.last_gapless OR known.last_gapless IS NULL AND floor = known.floor THEN
            PERFORM shardid.check_ticket_there(known, '42710'::text);
        END IF;
        DELETE FROM shardid.ticket t WHERE t.name = known.name;
        PERFORM shardid.note_dropped();
        numbers := shardid.make_ticket(name, server, servers, floor, false);
        -- What is above belongs to other servers.
        IF known.ceiling IS NOT NULL THEN
            PERFORM shardid.limit_ticket(name, known.ceiling);
        END IF;
        RETURN numbers;
    END IF;
    IF (known.server, known.servers, known.floor) = (server, servers, floor) THEN
        RETURN known.sequence;
    END IF;
    RETURN shardid.make_ticket(name, server, servers, floor, false);
END
$$;
COMMENT ON FUNCTION shardid.create_ticket_above(text, integer, integer, bigint) IS
    'make a ticket all of whose numbers are above floor, also again where its sequence is gone; nothing where it is there with just that';

CREATE FUNCTION shardid.limit_ticket(name text, ceiling bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.ticket := shardid.known_ticket(name);
    last bigint;
BEGIN
    PERFORM shardid.check_ticket_there(known, '55000'::text);
    IF known.ceiling IS NOT DISTINCT FROM ceiling THEN
        RETURN;
    END IF;
    PERFORM shardid.hold_ticket(known);
    last := shardid.ticket_last(known);
    IF last >= ceiling THEN
        RAISE EXCEPTION 'ticket "%" has handed out numbers up to %, and cannot be kept below %', name, last, ceiling
            USING ERRCODE = '55000', HINT = format('Take a ceiling above %s, with room for the numbers of the next moments.', last);
    END IF;
    known.ceiling := ceiling;
    PERFORM shardid.set_ticket(known, last);
END
$$;
COMMENT ON FUNCTION shardid.limit_ticket(text, bigint) IS
    'have a ticket hand out no number at or above ceiling; null lifts it; refused where it has';

CREATE FUNCTION shardid.restep_ticket(name text, server integer, servers integer, floor bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.ticket;
    last bigint;
BEGIN
    PERFORM shardid.check_ticket(name, server, servers, floor);
    known := shardid.known_ticket(name);
    PERFORM shardid.check_ticket_there(known, '55000'::text);
    IF (known.server, known.servers, known.floor) = (server, servers, floor) THEN
        RETURN;
    END IF;
    PERFORM shardid.hold_ticket(known);
    last := shardid.ticket_last(known);
    IF last > floor THEN
        RAISE EXCEPTION 'ticket "%" has handed out numbers up to %, above the floor %', name, last, floor
            USING ERRCODE = '55000', HINT = 'Take a floor at or above the last number of every server, and limit them to it first.';
    END IF;
    known.server := server;
    known.servers := servers;
    known.floor := floor;
    known.ceiling := NULL;
    PERFORM shardid.set_ticket(known, floor);
END
$$;
COMMENT ON FUNCTION shardid.restep_ticket(text, integer, integer, bigint) IS
    'have a ticket go on as server of servers, above floor, without a ceiling; refused where it has handed out a number above floor';

CREATE FUNCTION shardid.raise_ticket(name text, above bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.ticket;
BEGIN
    PERFORM shardid.check_ticket(name, 1, 1, above);
    known := shardid.known_ticket(name);
    PERFORM shardid.hold_ticket(known);
    IF known.last_gapless IS NULL AND known.ceiling IS NULL AND EXISTS (SELECT FROM pg_sequence s
        WHERE s.seqrelid = known.sequence AND above < s.seqmax AND s.seqmax = shardid.ticket_last(known))
    THEN
        -- No plain number is the last one: the first gapless one left the sequence there, and the row comes from a
        -- dump that did not see that any more. That it is gapless is said by the same word as how far it went.
        PERFORM shardid.check_room(known, above);
        UPDATE shardid.ticket t SET last_gapless = shardid.ticket_at_or_below(t.server, t.servers, above)
            WHERE t.name = raise_ticket.name;
    ELSIF above > shardid.ticket_last(known) THEN
        -- One that has handed nothing out may still be without gaps: its numbers begin above that.
        IF known.last_gapless IS NULL AND pg_sequence_last_value(known.sequence) <= known.floor THEN
            known.floor := above;
        END IF;
        PERFORM shardid.set_ticket(known, above);
    END IF;
    -- What was forgotten before is behind it now.
    UPDATE shardid.ticket t SET history = shardid.history()
        WHERE t.name = raise_ticket.name AND t.history IS DISTINCT FROM shardid.history();
END
$$;
COMMENT ON FUNCTION shardid.raise_ticket(text, bigint) IS
    'have all further numbers of a ticket be above that one; never lowers it';

-- ---------------------------------------------------------------------------
-- segments
-- ---------------------------------------------------------------------------

-- A tag's whole numbers come from a sequence in schema shardid_segments, so many at
-- once; of them a client uses those that leave the remainder.
CREATE TABLE shardid.segment (
    tag text COLLATE "C" PRIMARY KEY CHECK (tag <> ''),
    sequence shardid.regsequence,
    step bigint NOT NULL,
    start bigint NOT NULL CHECK (start >= 0),
    delta integer NOT NULL CHECK (delta >= 1),
    remainder integer NOT NULL CHECK (remainder >= 0 AND remainder < delta),
    update_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A shorter segment could be without a number that leaves the remainder.
    CHECK (step >= delta AND step <= 1000000000),
    history text DEFAULT shardid.history()
);
COMMENT ON TABLE shardid.segment IS 'tags that hand out segments; made by create_segment(), read through shardid.segments';
COMMENT ON COLUMN shardid.segment.sequence IS 'where the whole numbers come from; null where it was dropped';
COMMENT ON COLUMN shardid.segment.step IS 'how many whole numbers a segment spans';
COMMENT ON COLUMN shardid.segment.start IS 'where the first segment begins';
COMMENT ON COLUMN shardid.segment.delta IS 'what the numbers of a segment differ by';
COMMENT ON COLUMN shardid.segment.remainder IS 'what they leave when divided by delta';
COMMENT ON COLUMN shardid.segment.update_time IS 'when the tag was made or altered';
COMMENT ON COLUMN shardid.segment.history IS 'shardid.history() when the tag was made or raised: where it is another now, the last numbers may be forgotten';

CREATE TRIGGER row_restored BEFORE INSERT ON shardid.segment
    FOR EACH ROW EXECUTE FUNCTION shardid.row_restored();
CREATE TRIGGER row_there BEFORE INSERT ON shardid.segment
    FOR EACH ROW EXECUTE FUNCTION shardid.row_there();

SELECT pg_catalog.pg_extension_config_dump('shardid.segment', '');

CREATE FUNCTION shardid.take_numbers(sequence regclass, count bigint) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'take_numbers_wrapper';
COMMENT ON FUNCTION shardid.take_numbers(regclass, bigint) IS
    'the first of so many numbers of a rising sequence, taken at once; not undone by a rollback';

CREATE FUNCTION shardid.refuse_lost_segment(known shardid.segment, code text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    present regclass := (SELECT c.oid FROM pg_class c
        WHERE c.oid = known.sequence AND c.relkind = 'S' AND c.relname = known.tag
            AND c.relnamespace = to_regnamespace('shardid_segments'));
BEGIN
    -- It still knows where it stands, and drop_segment() would have that forgotten.
    IF present IS NOT NULL THEN
        RAISE EXCEPTION 'sequence % of segment tag "%" does not count by one any more', present, known.tag
            USING ERRCODE = code, HINT = format('ALTER SEQUENCE %s INCREMENT 1;', present);
    END IF;
    -- All of it: where others share the numbers, a delta that is left out hands out theirs.
    RAISE EXCEPTION 'the sequence of segment tag "%" was dropped', known.tag
        USING ERRCODE = code, DETAIL = format('Its numbers began at %s; how far they went is not known any more.', known.start),
            HINT = format('SELECT drop_segment(%L); then, with a start above all of them: SELECT create_segment(%L, %s, start => ..., delta => %s, remainder => %s);',
                known.tag, known.tag, known.step, known.delta, known.remainder);
END
$$;
COMMENT ON FUNCTION shardid.refuse_lost_segment(shardid.segment, text) IS
    'says how a segment tag is made again whose sequence was dropped';

CREATE FUNCTION shardid.next_segment(tag text, step bigint, OUT first bigint, OUT last bigint, OUT delta integer)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.segment;
    span bigint;
BEGIN
    SELECT * INTO known FROM shardid.segment s WHERE s.tag = next_segment.tag;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'segment tag "%" does not exist', coalesce(tag, 'null')
            USING ERRCODE = '42704', HINT = format('SELECT create_segment(%L, 1000);', coalesce(tag, 'orders'));
    END IF;
    span := coalesce(step, known.step);
    IF span < known.delta OR span > 1000000000 THEN
        RAISE EXCEPTION 'a segment of tag "%" cannot span % numbers', tag, span
            USING ERRCODE = '22023', DETAIL = format('It spans %s to 1000000000 whole numbers.', known.delta),
                HINT = format('SELECT * FROM next_segment(%L);', tag);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = known.sequence AND s.seqincrement = 1) THEN
        PERFORM shardid.refuse_lost_segment(known, '55000'::text);
    END IF;
    delta := known.delta;
    first := shardid.take_numbers(known.sequence::regclass, span);
    last := first + (span - 1);
    first := first + mod(known.remainder - mod(first, delta) + delta, delta);
    last := last - mod(mod(last, delta) - known.remainder + delta, delta);
END
$$;
COMMENT ON FUNCTION shardid.next_segment(text, bigint) IS 'next_segment()';

CREATE FUNCTION @extschema@.next_segment(tag text, step bigint DEFAULT NULL, OUT first bigint, OUT last bigint, OUT delta integer)
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
RETURN shardid.next_segment(tag, step);
COMMENT ON FUNCTION @extschema@.next_segment(text, bigint) IS
    'the next segment of a tag, to use up in memory: first, first + delta, ... last, both inclusive; not undone by a rollback';

CREATE FUNCTION shardid.create_segment(
    tag text, step bigint, start bigint, delta integer, remainder integer, if_not_exists boolean
) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    path text := 'shardid_segments.' || quote_ident(tag);
    numbers regclass;
    known shardid.segment;
BEGIN
    IF tag IS NULL OR tag = '' OR step IS NULL OR start IS NULL OR delta IS NULL OR remainder IS NULL THEN
        RAISE EXCEPTION 'a segment tag needs a name, a step, a start, a delta and a remainder'
            USING ERRCODE = '22004', HINT = 'SELECT create_segment(''orders'', 1000);';
    END IF;
    IF octet_length(tag) > 63 THEN
        RAISE EXCEPTION 'the segment tag is too long: "%"', tag
            USING ERRCODE = '42622', DETAIL = 'It is the name of a sequence, and those have at most 63 bytes.',
                HINT = 'Take a shorter one.';
    END IF;
    IF start NOT BETWEEN 0 AND 9223372036854775806 OR delta < 1 OR remainder < 0 OR remainder >= delta OR step < delta OR step > 1000000000 THEN
        RAISE EXCEPTION 'tag "%" cannot have segments of % numbers from % on, of which every %th leaves %', tag, step, start, delta, remainder
            USING ERRCODE = '22023',
                DETAIL = 'A start is 0 to 9223372036854775806, a delta 1 or above, a remainder 0 to delta - 1, and a step delta to 1000000000.',
                HINT = format('The odd numbers, 1000 at a time: SELECT create_segment(%L, 2000, delta => 2, remainder => 1);', tag);
    END IF;
    -- One at a time: two sessions that make one tag, or the first two.
    PERFORM shardid.lock_number('shardid.segment'::regclass, 0, true);
    SELECT * INTO known FROM shardid.segment s WHERE s.tag = create_segment.tag;
    IF known.tag IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = known.sequence AND s.seqincrement = 1) THEN
            PERFORM shardid.refuse_lost_segment(known, '42710'::text);
        END IF;
        IF if_not_exists AND (known.step, known.start, known.delta, known.remainder) = (step, start, delta, remainder) THEN
            RETURN known.sequence;
        END IF;
        RAISE EXCEPTION 'segment tag "%" exists already', tag
            USING ERRCODE = '42710', DETAIL = format('Its step is %s, its start %s, its delta %s, its remainder %s.',
                    known.step, known.start, known.delta, known.remainder),
                HINT = 'SELECT * FROM shardid.segments;';
    END IF;
    IF to_regnamespace('shardid_segments') IS NULL THEN
        CREATE SCHEMA shardid_segments;
        GRANT USAGE ON SCHEMA shardid_segments TO PUBLIC;
        COMMENT ON SCHEMA shardid_segments IS 'sequences of segment tags, made by create_segment()';
    END IF;
    PERFORM shardid.check_home('shardid_segments'::regnamespace, 'shardid.segment'::regclass);
    numbers := to_regclass(path);
    IF numbers IS NULL THEN
        EXECUTE format('CREATE SEQUENCE %s AS bigint INCREMENT 1 MINVALUE %s START %s', path, start, start);
        numbers := path::regclass;
        EXECUTE format('COMMENT ON SEQUENCE %s IS %L', path, format('segments of tag %s: use next_segment(%L)', tag, tag));
    ELSE
        PERFORM shardid.check_owner(numbers, 'shardid.segment'::regclass);
        PERFORM shardid.hold_sequence(numbers::oid);
        PERFORM shardid.check_name(numbers, path);
        PERFORM shardid.check_owner(numbers, 'shardid.segment'::regclass);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = numbers AND s.seqincrement = 1) THEN
        RAISE EXCEPTION 'relation % exists already and is not a sequence of segments', path
            USING ERRCODE = '42P07', HINT = format('Rename what is there: %s RENAME TO ...;', shardid.alter_command(numbers));
    END IF;
    IF EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = numbers AND s.seqcycle) THEN
        PERFORM shardid.alter_sequence(numbers, 'NO CYCLE'::text);
    END IF;
    -- Its sequence from before, or from a dump without data, goes on; not below where this is to begin.
    IF (SELECT s.last_value < CASE WHEN s.is_called THEN start - 1 ELSE start END FROM shardid.read_sequence(numbers::oid) s) THEN
        IF start > (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = numbers) THEN
            RAISE EXCEPTION 'sequence % exists already and ends before the start of tag "%"', numbers, tag
                USING ERRCODE = '55000', DETAIL = format('It ends at %s.', (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = numbers)),
                    HINT = format('ALTER SEQUENCE %s AS bigint MAXVALUE 9223372036854775807;', numbers);
        END IF;
        PERFORM setval(numbers, start, false);
    END IF;
    -- Where another session has made it since this transaction's snapshot, this says that it is to be tried again.
    INSERT INTO shardid.segment VALUES (tag, numbers, step, start, delta, remainder) ON CONFLICT ON CONSTRAINT segment_pkey DO NOTHING;
    UPDATE shardid.segment s SET history = shardid.history() WHERE s.tag = create_segment.tag;
    RETURN numbers;
END
$$;
COMMENT ON FUNCTION shardid.create_segment(text, bigint, bigint, integer, integer, boolean) IS 'create_segment()';

CREATE FUNCTION @extschema@.create_segment(
    tag text, step bigint, start bigint DEFAULT 1, delta integer DEFAULT 1, remainder integer DEFAULT 0,
    if_not_exists boolean DEFAULT false
) RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.create_segment(tag, step, start, delta, remainder, if_not_exists);
COMMENT ON FUNCTION @extschema@.create_segment(text, bigint, bigint, integer, integer, boolean) IS
    'make a tag that hands out segments: how many whole numbers each spans, from where on, and which of them count; returns its sequence';

CREATE FUNCTION shardid.alter_segment(tag text, step bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.segment;
BEGIN
    SELECT * INTO known FROM shardid.segment s WHERE s.tag = alter_segment.tag FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'segment tag "%" does not exist', coalesce(tag, 'null')
            USING ERRCODE = '42704', HINT = 'SELECT * FROM shardid.segments;';
    END IF;
    IF step IS NULL OR step < known.delta OR step > 1000000000 THEN
        RAISE EXCEPTION 'a segment of tag "%" cannot span % numbers', tag, coalesce(step::text, 'null')
            USING ERRCODE = '22023', DETAIL = format('It spans %s to 1000000000 whole numbers.', known.delta),
                HINT = format('SELECT alter_segment(%L, %s);', tag, known.step);
    END IF;
    UPDATE shardid.segment s SET step = alter_segment.step, update_time = clock_timestamp()
        WHERE s.tag = alter_segment.tag;
END
$$;
COMMENT ON FUNCTION shardid.alter_segment(text, bigint) IS 'alter_segment()';

CREATE FUNCTION @extschema@.alter_segment(tag text, step bigint) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.alter_segment(tag, step);
COMMENT ON FUNCTION @extschema@.alter_segment(text, bigint) IS
    'have the next segments of a tag span so many whole numbers; waits for nobody who takes them';

CREATE FUNCTION shardid.raise_segment(tag text, above bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.segment;
BEGIN
    IF above IS NULL OR above < 0 THEN
        RAISE EXCEPTION 'no segment of tag "%" can begin above %', coalesce(tag, 'null'), coalesce(above::text, 'null')
            USING ERRCODE = '22023', HINT = format('Give the highest number that was handed out: SELECT shardid.raise_segment(%L, ...);', tag);
    END IF;
    SELECT * INTO known FROM shardid.segment s WHERE s.tag = raise_segment.tag FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'segment tag "%" does not exist', coalesce(tag, 'null')
            USING ERRCODE = '42704', HINT = 'SELECT * FROM shardid.segments;';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_sequence s WHERE s.seqrelid = known.sequence AND s.seqincrement = 1) THEN
        PERFORM shardid.refuse_lost_segment(known, '55000'::text);
    END IF;
    -- As for a ticket: nobody else takes numbers until this commits, and it is on disk then.
    PERFORM shardid.alter_sequence(known.sequence::regclass, 'NO CYCLE'::text);
    IF above > (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = known.sequence) THEN
        RAISE EXCEPTION 'segment tag "%" has not enough numbers left', tag
            USING ERRCODE = '22003', DETAIL = format('Its sequence ends at %s.', (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = known.sequence)),
                HINT = format('ALTER SEQUENCE %s AS bigint NO MAXVALUE;', known.sequence);
    END IF;
    IF above > coalesce(pg_sequence_last_value(known.sequence), known.start - 1) THEN
        PERFORM setval(known.sequence, above);
    END IF;
    UPDATE shardid.segment s SET history = shardid.history()
        WHERE s.tag = raise_segment.tag AND s.history IS DISTINCT FROM shardid.history();
END
$$;
COMMENT ON FUNCTION shardid.raise_segment(text, bigint) IS
    'have all further segments of a tag be above that number; never lowers it';

CREATE FUNCTION shardid.drop_segment(tag text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known shardid.segment;
BEGIN
    DELETE FROM shardid.segment s WHERE s.tag = drop_segment.tag RETURNING * INTO known;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'segment tag "%" does not exist', coalesce(tag, 'null')
            USING ERRCODE = '42704', HINT = 'SELECT * FROM shardid.segments;';
    END IF;
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known.sequence AND c.relkind = 'S'
        AND c.relnamespace = to_regnamespace('shardid_segments'))
    THEN
        PERFORM shardid.drop_sequence(known.sequence::regclass);
    END IF;
    PERFORM shardid.note_dropped();
END
$$;
COMMENT ON FUNCTION shardid.drop_segment(text) IS 'drop_segment()';

CREATE FUNCTION @extschema@.drop_segment(tag text) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN shardid.drop_segment(tag);
COMMENT ON FUNCTION @extschema@.drop_segment(text) IS 'forget a segment tag and drop its sequence; made again it begins anew';

-- ---------------------------------------------------------------------------
-- what comes by replication
-- ---------------------------------------------------------------------------

-- A publication FOR ALL TABLES has these tables in it, and what they say is true of the
-- publisher alone: a subscriber keeps its own rows.
CREATE FUNCTION shardid.replicated_row() RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'shardid_replicated_row';
COMMENT ON FUNCTION shardid.replicated_row() IS
    'ignores a row that comes by replication: it says what is on another server';

CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.layout
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.layout ENABLE REPLICA TRIGGER replicated_row;
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.shard
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.shard ENABLE REPLICA TRIGGER replicated_row;
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.id_sequence
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.id_sequence ENABLE REPLICA TRIGGER replicated_row;
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.dropped_id_sequence
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.dropped_id_sequence ENABLE REPLICA TRIGGER replicated_row;
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.cluster
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.cluster ENABLE REPLICA TRIGGER replicated_row;
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.ticket
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.ticket ENABLE REPLICA TRIGGER replicated_row;
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.server
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.server ENABLE REPLICA TRIGGER replicated_row;
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.segment
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.segment ENABLE REPLICA TRIGGER replicated_row;

-- It has no key, and a publication FOR ALL TABLES would have its changes refused.
ALTER TABLE shardid.cluster REPLICA IDENTITY FULL;

-- ---------------------------------------------------------------------------
-- clusters
-- ---------------------------------------------------------------------------

CREATE FUNCTION shardid.adopt_shard(shard integer) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE shardid.shard s
        SET system_identifier = (SELECT c.system_identifier FROM pg_control_system() c),
            database = current_database()
        WHERE s.shard = adopt_shard.shard AND s.cluster IS NOT NULL AND (s.sequence IS NOT NULL OR s.state = 'open');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'shard % is not a shard of a cluster that has its sequence here', shard
            USING ERRCODE = '42704', HINT = 'SELECT * FROM shardid.shards;';
    END IF;
    PERFORM shardid.note_restored((SELECT s.sequence::oid FROM shardid.shard s WHERE s.shard = adopt_shard.shard));
END
$$;
COMMENT ON FUNCTION shardid.adopt_shard(integer) IS 'adopt_shard()';

CREATE FUNCTION @extschema@.adopt_shard(shard integer) RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
RETURN shardid.adopt_shard(shard);
COMMENT ON FUNCTION @extschema@.adopt_shard(integer) IS
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
            USING ERRCODE = '22023', HINT = 'Give a node for each shard, as the program shardid does.';
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

    -- The map was made anew from the nodes: whoever works on a move by the catalog before is overtaken.
    IF known.map_version / 1000000000 < map_version / 1000000000 THEN
        PERFORM shardid.lock_number('shardid.shard_term'::regclass, n.shard, true)
            FROM (SELECT t.shard FROM shardid.shard_term t ORDER BY t.shard) n;
        UPDATE shardid.shard_term t SET term = greatest(t.term + 1, map_version / 1000000000 * 1000000000);
    END IF;
    -- A row that is there is taken for one of a dump where it is inserted once more.
    UPDATE shardid.cluster c SET map_version = map_version WHERE c.map_version < map_version;
    GET DIAGNOSTICS changed = ROW_COUNT;
    total := total + changed;
    INSERT INTO shardid.cluster SELECT cluster, node, layout, shards, map_version
        WHERE NOT EXISTS (SELECT FROM shardid.cluster);
    GET DIAGNOSTICS changed = ROW_COUNT;
    total := total + changed;
    -- A move may have changed a row since it was looked at above. Each statement looks again at
    -- the row as it has become, and leaves alone what is known from a newer map, or is open.
    UPDATE shardid.shard s
        SET cluster = cluster, node = node, map_version = map_version,
            system_identifier = system, database = current_database()
        FROM unnest(placed, nodes) AS m(shard, node)
        WHERE s.shard = m.shard AND m.node = node AND s.state IN ('open', 'fenced')
            AND coalesce(s.map_version, 0) <= map_version
            AND (s.cluster, s.node, s.system_identifier, s.database)
                IS DISTINCT FROM (cluster, node, system, current_database()::text);
    GET DIAGNOSTICS changed = ROW_COUNT;
    total := total + changed;
    UPDATE shardid.shard s
        SET layout = layout, state = 'moved', cluster = cluster, node = m.node, map_version = map_version
        FROM unnest(placed, nodes) AS m(shard, node)
        WHERE s.shard = m.shard AND m.node <> node
            AND s.state NOT IN ('open', 'fenced') AND coalesce(s.map_version, 0) <= map_version
            AND (s.state, s.cluster, s.node) IS DISTINCT FROM ('moved', cluster, m.node);
    GET DIAGNOSTICS changed = ROW_COUNT;
    total := total + changed;
    INSERT INTO shardid.shard (shard, layout, state, cluster, node, map_version)
        SELECT m.shard, layout, 'moved', cluster, m.node, map_version
        FROM unnest(placed, nodes) AS m(shard, node)
        WHERE m.node <> node AND NOT EXISTS (SELECT FROM shardid.shard s WHERE s.shard = m.shard)
        ON CONFLICT ON CONSTRAINT shard_pkey DO NOTHING;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN total + changed;
END
$$;
COMMENT ON FUNCTION shardid.place_shards(text, text, text, integer, bigint, integer[], text[]) IS
    'make this database a node of a cluster and keep its copy of the map: shards placed here are stamped, others say where they live; used by the program shardid';

-- The program knows a node by the database it is, and gives it the name that it has by now.
CREATE FUNCTION shardid.rename_node(cluster text, node text, name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    known shardid.cluster;
BEGIN
    IF name = '' THEN
        RAISE EXCEPTION 'a node cannot have an empty name' USING ERRCODE = '22023', HINT = 'Name the node as shardid.toml does.';
    END IF;
    SELECT c.* INTO known FROM shardid.cluster c FOR UPDATE;
    IF NOT FOUND OR known.name <> cluster OR known.node NOT IN (node, name) THEN
        RAISE EXCEPTION 'this database is not node "%" of cluster "%"', node, cluster
            USING ERRCODE = '55000',
                DETAIL = CASE WHEN known.name IS NULL THEN 'It belongs to no cluster.'
                    ELSE format('It is node "%s" of cluster "%s".', known.node, known.name) END,
                HINT = 'SELECT * FROM shardid.cluster; shardid apply names a node as shardid.toml does.';
    END IF;
    IF known.node = name THEN
        RETURN false;
    END IF;
    UPDATE shardid.shard s SET node = name WHERE s.cluster = cluster AND s.node = node;
    UPDATE shardid.cluster c SET node = name;
    RETURN true;
END
$$;
COMMENT ON FUNCTION shardid.rename_node(text, text, text) IS
    'give this node of a cluster another name, with the shards that live here; false where it has it already; used by the program shardid';

-- Which program may move a shard. Whoever begins to work on a move claims its shard on both
-- nodes for a term, higher than all before. What a program does here asks in the same
-- transaction whether the shard is still claimed for its term, so that nothing which was
-- under way when another took over can come late.

CREATE TABLE shardid.shard_term (
    shard integer PRIMARY KEY,
    term bigint NOT NULL
);
COMMENT ON TABLE shardid.shard_term IS 'the program that moves a shard claims it for a term; none with a lower one changes anything';
CREATE TRIGGER replicated_row BEFORE INSERT OR UPDATE OR DELETE ON shardid.shard_term
    FOR EACH ROW EXECUTE FUNCTION shardid.replicated_row();
ALTER TABLE shardid.shard_term ENABLE REPLICA TRIGGER replicated_row;

-- What comes by replication is ignored before any trigger fires that comes after that one:
-- these fire in replicas' sessions too, and so for a dump that is loaded in one. No trigger
-- of these tables can be left off.
CREATE FUNCTION shardid.keep_triggers(altered oid) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    trigger record;
BEGIN
    FOR trigger IN SELECT t.tgname AS name, x.fires FROM pg_trigger t
        CROSS JOIN LATERAL (SELECT CASE WHEN t.tgname = 'replicated_row' THEN 'REPLICA'
            WHEN t.tgtype & 1 = 1 AND (t.tgtype & 2 = 0 OR t.tgname > 'replicated_row') THEN 'ALWAYS' ELSE '' END) AS x (fires)
        WHERE t.tgrelid = altered AND NOT t.tgisinternal
            AND EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'shardid'
                WHERE d.classid = 'pg_class'::regclass AND d.objid = altered AND d.objsubid = 0
                    AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass)
            AND t.tgenabled <> CASE x.fires WHEN 'REPLICA' THEN 'R' WHEN 'ALWAYS' THEN 'A' ELSE 'O' END::"char"
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE %s TRIGGER %I', altered::regclass, trigger.fires, trigger.name);
    END LOOP;
END
$$;
COMMENT ON FUNCTION shardid.keep_triggers(oid) IS
    'has the triggers of a table of shardid fire when they are to: row triggers after replicated_row in every session';

-- ENABLE TRIGGER ALL, which pg_restore --disable-triggers ends with, has replicated_row() fire for
-- everything but what it is for: rows that come by replication.
CREATE FUNCTION shardid.table_altered() RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    altered oid;
BEGIN
    -- Whoever alters a table of his own needs no right to what is called here.
    FOR altered IN SELECT c.objid FROM pg_event_trigger_ddl_commands() c
        JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.objid AND d.objsubid = 0 AND d.deptype = 'e'
            AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'shardid')
        WHERE c.classid = 'pg_class'::regclass
    LOOP
        PERFORM shardid.keep_triggers(altered);
    END LOOP;
END
$$;
COMMENT ON FUNCTION shardid.table_altered() IS 'has the triggers of tables of shardid stay as they are: rows that are restored or replicated without them may be true of another server alone';

CREATE EVENT TRIGGER shardid_table_altered ON ddl_command_end WHEN TAG IN ('ALTER TABLE')
    EXECUTE FUNCTION shardid.table_altered();
ALTER EVENT TRIGGER shardid_table_altered ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER shardid_table_altered IS 'has the triggers of tables of shardid stay as they are';

-- PostgreSQL 15 applies what a copy of a shard follows by as a role that owns the subscription, and code of the
-- shard's owners runs as that: it may not change by which slot that follows, nor end it.
CREATE FUNCTION shardid.subscription_altered() RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_user ~ '^shardid_(move|back)_[0-9]+$' AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN
        RAISE EXCEPTION 'role % may not change a subscription', current_user
            USING ERRCODE = '42501', DETAIL = 'A copy of a shard follows by it.', HINT = 'shardid moves shows the moves.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.subscription_altered() IS 'refuses that the role of a stream changes the subscription that it owns';

CREATE EVENT TRIGGER shardid_subscription_altered ON ddl_command_start
    WHEN TAG IN ('ALTER SUBSCRIPTION', 'DROP SUBSCRIPTION', 'COMMENT', 'SECURITY LABEL')
    EXECUTE FUNCTION shardid.subscription_altered();
ALTER EVENT TRIGGER shardid_subscription_altered ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER shardid_subscription_altered IS 'refuses that the role of a stream changes the subscription that it owns';
-- Of the tables above, all that is not as it is to be.
DO $do$
BEGIN
    PERFORM shardid.keep_triggers(c.oid) FROM pg_class c WHERE c.relnamespace = 'shardid'::regnamespace AND c.relkind = 'r'
        AND EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'replicated_row');
END
$do$;

-- A TRUNCATE would be replicated, too, where nothing can ignore it.
CREATE FUNCTION shardid.not_truncated() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'table %.% cannot be truncated', TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = '55000', DETAIL = 'Subscribers of a publication FOR ALL TABLES would lose their own rows.',
            HINT = 'Shards, tickets and segments are removed by drop_shard(), drop_ticket() and drop_segment().';
END
$$;
COMMENT ON FUNCTION shardid.not_truncated() IS 'refuses TRUNCATE, which would be replicated';

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.shard
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.id_sequence
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.dropped_id_sequence
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.cluster
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.ticket
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.server
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.segment
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shardid.shard_term
    FOR EACH STATEMENT EXECUTE FUNCTION shardid.not_truncated();

CREATE FUNCTION shardid.claim_shard(shard integer, term bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF shard < 0 OR term < 1 THEN
        RAISE EXCEPTION 'there is no shard % to claim for term %', shard, term
            USING ERRCODE = '22023', HINT = 'Shards are 0 and above, terms 1 and above; the program shardid gives them.';
    END IF;
    PERFORM shardid.lock_number('shardid.shard_term'::regclass, shard, true);
    INSERT INTO shardid.shard_term AS t VALUES (shard, term)
        ON CONFLICT ON CONSTRAINT shard_term_pkey DO UPDATE SET term = EXCLUDED.term
        WHERE t.term < EXCLUDED.term;
    RETURN (SELECT t.term FROM shardid.shard_term t WHERE t.shard = claim_shard.shard);
END
$$;
COMMENT ON FUNCTION shardid.claim_shard(integer, bigint) IS
    'claim a shard for a term of the program that moves it; returns the highest term that is known here';

CREATE FUNCTION shardid.check_term(shard integer, term bigint) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    known bigint;
BEGIN
    -- Shared, and no row is locked: a transaction that makes a slot may not have written.
    PERFORM shardid.lock_number('shardid.shard_term'::regclass, shard, false);
    SELECT t.term INTO known FROM shardid.shard_term t WHERE t.shard = check_term.shard;
    IF known IS NULL THEN
        RAISE EXCEPTION 'shard % is claimed by no program', shard
            USING ERRCODE = '55000', DETAIL = format('The term asked for is %s.', term), HINT = 'shardid moves shows the moves.';
    END IF;
    IF known IS DISTINCT FROM term THEN
        RAISE EXCEPTION 'another program has taken over the move of shard %', shard
            USING ERRCODE = '55000', DETAIL = format('Its term is %s, and the term here is %s.', known, term),
                HINT = 'shardid moves shows who works on it.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_term(integer, bigint) IS
    'refuse to go on where a shard is claimed for another term; the claim stays until the transaction ends';

CREATE FUNCTION shardid.place_now(shard integer) RETURNS text[]
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'place_now_wrapper';
COMMENT ON FUNCTION shardid.place_now(integer) IS
    'state, node and version of the map of a shard as of now, whatever the snapshot of the transaction';

CREATE FUNCTION shardid.is_follower(relation regclass) RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'is_follower_wrapper';
COMMENT ON FUNCTION shardid.is_follower(regclass) IS
    'whether this session writes what a copy of that table gets: a worker of a subscription that a move has made for it, or the program that copies';

CREATE FUNCTION shardid.refuse_write() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place text[];
BEGIN
    -- What a copy gets comes before the shard does.
    IF NOT shardid.is_follower(TG_RELID) THEN
        -- The row decides, as it is now: to take a trigger away waits for others, and a snapshot may be older than a fence.
        place := shardid.place_now(TG_ARGV[0]::integer);
    END IF;
    IF place IS NULL OR place[1] = 'open' THEN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        RETURN NEW;
    END IF;
    IF place[1] = 'moved' THEN
        RAISE EXCEPTION 'shard % lives on node "%", not on this one', TG_ARGV[0], place[2]
            USING ERRCODE = 'SI001',
                DETAIL = format('%s is the old copy; the map says so since version %s.', TG_RELID::regclass, place[3]),
                HINT = format('Connect to node "%s", or read the map again: shardid map', place[2]);
    END IF;
    RAISE EXCEPTION 'shard % is fenced: it takes no writes while it is moved', TG_ARGV[0]
        USING ERRCODE = 'SI002', DETAIL = format('%s belongs to it.', TG_RELID::regclass),
            HINT = 'Try again in a moment; shardid moves shows the move.';
END
$$;
COMMENT ON FUNCTION shardid.refuse_write() IS
    'refuses writes to a table of a shard that is fenced (SI002) or lives elsewhere (SI001); argument: the shard';

-- A copy begins to follow only where no row can pass its guards.
CREATE FUNCTION shardid.loose_guards(stream text) RETURNS text[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(p.part ORDER BY r.srrelid, p.n), '{}')
        FROM pg_subscription_rel r
        JOIN pg_subscription s ON s.oid = r.srsubid AND s.subname = stream
        CROSS JOIN LATERAL (SELECT
                -- Of each statement, and of each row: INSERT, DELETE, UPDATE, and TRUNCATE.
                bool_or(t.is_ours AND t.tgenabled = 'A' AND t.tgtype & 1 = 0 AND t.tgtype & 60 = 60) AS of_statements,
                bool_or(t.is_ours AND t.tgenabled = 'A' AND t.tgtype & 29 = 29) AS of_rows,
                -- Those of keys run nobody's code, and a superuser's doing is it where they fire for rows that come.
                min(quote_ident(t.tgname)) FILTER (WHERE NOT t.is_ours AND NOT t.tgisinternal AND t.tgenabled IN ('A', 'R')) AS another
            FROM (SELECT g.tgname, g.tgtype, g.tgenabled, g.tgisinternal, g.tgfoid = 'shardid.refuse_write()'::regprocedure AS is_ours
                FROM pg_trigger g WHERE g.tgrelid = r.srrelid) AS t) AS x
        CROSS JOIN LATERAL (VALUES (1, r.srrelid::regclass::text), (2, x.another)) AS p (n, part)
        WHERE x.another IS NOT NULL OR x.of_statements IS NOT TRUE OR x.of_rows IS NOT TRUE
$$;
COMMENT ON FUNCTION shardid.loose_guards(text) IS
    'tables of the copy that follows by a stream whose guards rows could pass: each, and the trigger that would fire for rows that come; null: a guard is not there';

-- A worker that applies what a copy of a shard follows by is known by the guards of the tables that it writes to, and is
-- bound from then on. Whoever owns such a table could take them away, or make a trigger that keeps rows from them. So
-- where a guard is, of a shard that is not open here, it stays, and no other trigger fires for rows that come.
-- Whoever it is may read what this reads. What has guards is found by what depends on their function.
CREATE FUNCTION shardid.guard_state() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(p.part ORDER BY x.relation, p.n), '{}')
        FROM (SELECT g.tgrelid AS relation,
                -- Of each statement, and of each row: INSERT, DELETE, UPDATE, and TRUNCATE.
                concat(CASE WHEN bool_or(g.tgtype & 1 = 0 AND g.tgtype & 60 = 60 AND g.tgenabled = 'A') THEN 'S' END,
                    CASE WHEN bool_or(g.tgtype & 29 = 29 AND g.tgenabled = 'A') THEN 'R' END) AS guards
            FROM pg_depend d
            JOIN pg_trigger g ON g.oid = d.objid
            WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = 'shardid.refuse_write()'::regprocedure
                AND d.classid = 'pg_trigger'::regclass
                -- One that goes with an extension, of whomever, is as good as gone.
                AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.classid AND e.objid = d.objid AND e.deptype = 'x')
            GROUP BY g.tgrelid
            HAVING NOT bool_or(g.tgargs IN (SELECT convert_to(o.shard::text, 'SQL_ASCII') || decode('00', 'hex')
                FROM shardid.shard o WHERE o.state = 'open'))) AS x
        -- Those of keys run nobody's code, and a superuser's doing is it where they fire for rows that come.
        CROSS JOIN LATERAL (SELECT min(quote_ident(t.tgname)) AS another FROM pg_trigger t
            WHERE t.tgrelid = x.relation AND t.tgenabled IN ('A', 'R') AND NOT t.tgisinternal
                AND t.tgfoid <> 'shardid.refuse_write()'::regprocedure) AS y
        CROSS JOIN LATERAL (VALUES (1, x.relation::text), (2, x.guards), (3, y.another)) AS p (n, part)
$$;
COMMENT ON FUNCTION shardid.guard_state() IS
    'tables with guards of shards that are not open here: the number of each, S and R for the guards of statements and rows that are on, and a trigger beside them that fires for rows that come';

-- Whatever was said: what it leaves is looked at. Whose doing it is, the user at that moment says: a superuser's session calls
-- functions that run as others, as autovacuum does, and as whoever calls what is SECURITY DEFINER.
CREATE FUNCTION shardid.guards_kept() RETURNS event_trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'guards_kept_wrapper';
COMMENT ON FUNCTION shardid.guards_kept() IS 'refuses what would leave a table of a shard that is fenced or lives elsewhere without its guards, or with a trigger that keeps rows from them';

CREATE EVENT TRIGGER shardid_guards_kept ON ddl_command_end EXECUTE FUNCTION shardid.guards_kept();
ALTER EVENT TRIGGER shardid_guards_kept ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER shardid_guards_kept IS 'has tables of shards that are fenced or live elsewhere keep their guards';

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

CREATE FUNCTION @extschema@.id_explain(id bigint)
RETURNS TABLE (layout text, "time" timestamptz, shard integer, slot bigint, age interval, note text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
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
    ORDER BY s.shard IS NULL, s.state <> 'open', l.name;
END;
COMMENT ON FUNCTION @extschema@.id_explain(bigint) IS
    'an id as every layout reads it in which it makes sense, the likeliest first; for a person at a prompt';

CREATE FUNCTION shardid.generator_last_for_monitor(sequence regclass) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL RESTRICTED SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT shardid.last_number(s.sequence::oid) FROM shardid.shard s
        WHERE s.sequence = generator_last_for_monitor.sequence AND shardid.is_generator(s.sequence::regclass, s.shard, s.layout) LIMIT 1);
END
$$;
COMMENT ON FUNCTION shardid.generator_last_for_monitor(regclass) IS 'the last value of a shard''s sequence, for members of pg_monitor';

CREATE FUNCTION shardid.generator_last(sequence regclass) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF has_sequence_privilege(sequence::oid, 'USAGE, SELECT') THEN
        RETURN shardid.last_number(sequence::oid);
    ELSIF pg_has_role('pg_monitor', 'USAGE') THEN
        RETURN shardid.generator_last_for_monitor(sequence);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION shardid.generator_last(regclass) IS
    'the last value of a shard''s sequence, null for those who may not see it';

CREATE VIEW shardid.shards AS
    SELECT s.shard, n.nspname AS schema, s.sequence::regclass AS sequence, s.layout, s.state, s.node,
        i.last_id, t.last_time,
        CASE
            -- At its share of the tick: where ticks are long, it may be ahead within one.
            WHEN p.stands_at > pg_catalog.clock_timestamp() THEN date_trunc('milliseconds', p.stands_at - pg_catalog.clock_timestamp())
            -- Null for those who may not see the last id, and where that is none: 0 would say that all is well.
            WHEN s.sequence IS NULL OR (i.last_id IS NULL OR t.last_time IS NOT NULL)
                AND (has_sequence_privilege(q.seqrelid, 'USAGE, SELECT') OR pg_has_role('pg_monitor', 'USAGE')) THEN interval '0'
        END AS drift
    FROM shardid.shard s
    LEFT JOIN pg_catalog.pg_class c ON c.oid = s.sequence
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.sequence
    CROSS JOIN LATERAL (
        -- Where it starts, nobody was given anything: see shardid.create_generator.
        SELECT nullif(shardid.generator_last(q.seqrelid::regclass), q.seqstart)
    ) AS i(last_id)
    LEFT JOIN shardid.layout l ON l.name = s.layout
    -- A sequence may have been set to what is no id of its layout, and one row must not keep out all others.
    CROSS JOIN LATERAL (
        SELECT CASE WHEN i.last_id BETWEEN 0 AND ((l.ticks - 1)::numeric * l.shards + l.shards - 1) * l.slots + l.slots - 1
            THEN @extschema@.id_time(i.last_id, s.layout) END
    ) AS t(last_time)
    CROSS JOIN LATERAL (SELECT i.last_id % l.slots) AS h(slot)
    -- A tick whose last slot was given is used up.
    CROSS JOIN LATERAL (SELECT t.last_time + l.tick * ((h.slot + (h.slot = l.slots - 1)::integer)::float8 / l.slots)) AS p(stands_at)
    WHERE s.state <> 'dropped';
COMMENT ON VIEW shardid.shards IS
    'shards: where they are, their state, the last id handed out, its time, and how far that is ahead of the clock';

CREATE VIEW shardid.tickets AS
    SELECT t.name, t.server, t.servers,
        CASE WHEN n.last > t.floor AND NOT n.is_at_end THEN n.last END AS last_ticket,
        t.ceiling, t.floor, t.sequence::regclass AS sequence, t.last_gapless IS NOT NULL AS gapless
    FROM shardid.ticket t
    -- The first gapless number takes the sequence to its end, which no plain one reaches; the row may be of before.
    CROSS JOIN LATERAL (SELECT coalesce(t.last_gapless, l.last), coalesce(t.last_gapless IS NULL AND
            CASE WHEN t.ceiling IS NULL THEN l.last >= q.seqmax ELSE l.last > q.seqmax END, false)
        FROM (SELECT shardid.last_number(t.sequence::oid) AS last) AS l
        LEFT JOIN pg_catalog.pg_sequence q ON q.seqrelid = t.sequence) AS n(last, is_at_end);
COMMENT ON VIEW shardid.tickets IS
    'tickets: which of how many servers this is, the last number handed out, and between which bounds the numbers are';

CREATE VIEW shardid.segments AS
    SELECT s.tag AS biz_tag,
        CASE WHEN pg_catalog.has_sequence_privilege(q.seqrelid, 'USAGE, SELECT')
            THEN coalesce(shardid.last_number(q.seqrelid), s.start - 1) END AS max_id,
        s.step, pg_catalog.obj_description(q.seqrelid, 'pg_class') AS description, s.update_time,
        s.delta, s.remainder, s.sequence::regclass AS sequence
    FROM shardid.segment s
    LEFT JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.sequence;
COMMENT ON VIEW shardid.segments IS
    'segment tags, by the names that Leaf has for them: max_id is the highest whole number given out, description the comment of the sequence';

-- ---------------------------------------------------------------------------
-- privileges
-- ---------------------------------------------------------------------------

-- Everybody may look and decode; taking ids needs USAGE on the sequence, as
-- nextval does. What changes the estate is for the database's owner, and for
-- those the owner grants it to (see docs/privileges.md).
-- All of it belongs to the first superuser, who stays one, and nobody may make anything in
-- schema shardid: what superusers call there is ours.
DO $do$
DECLARE
    member record;
BEGIN
    FOR member IN
        SELECT i.type, i.identity, (SELECT r.rolname FROM pg_roles r WHERE r.oid = 10) AS owner
        FROM pg_depend d
        -- What belongs to the first superuser is pinned, and has no row here; nor has what has
        -- no owner of its own, as a cast or the row type of a table.
        JOIN pg_shdepend o ON o.classid = d.classid AND o.objid = d.objid AND o.objsubid = 0 AND o.deptype = 'o'
            AND o.dbid = (SELECT b.oid FROM pg_database b WHERE b.datname = current_database())
        JOIN pg_roles r ON r.oid = o.refobjid AND r.rolsuper
        CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) i
        WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
            AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'shardid')
    LOOP
        EXECUTE format('ALTER %s %s OWNER TO %I', member.type, member.identity, member.owner);
    END LOOP;
END
$do$;
-- What default privileges of whoever installs this give to others on all that he makes is meant
-- for his own: here it would move the horizon of a whole database, or run code as its owner.
DO $do$
DECLARE
    granted record;
BEGIN
    FOR granted IN SELECT DISTINCT m.kind, m.name, CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE format('%I', r.rolname) END AS grantee
        FROM pg_depend d
        CROSS JOIN LATERAL (
            SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass::text, c.relacl, c.relowner
                FROM pg_class c WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind <> 'c'
            UNION ALL SELECT 'SCHEMA', n.oid::regnamespace::text, n.nspacl, n.nspowner
                FROM pg_namespace n WHERE d.classid = 'pg_namespace'::regclass AND n.oid = d.objid
            UNION ALL SELECT 'ROUTINE', p.oid::regprocedure::text, p.proacl, p.proowner
                FROM pg_proc p WHERE d.classid = 'pg_proc'::regclass AND p.oid = d.objid
            UNION ALL SELECT 'TYPE', t.oid::regtype::text, t.typacl, t.typowner
                FROM pg_type t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid AND t.typcategory <> 'A'
        ) AS m (kind, name, acl, owner)
        CROSS JOIN LATERAL aclexplode(m.acl) x
        LEFT JOIN pg_roles r ON r.oid = x.grantee
        WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
            AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'shardid')
            AND x.grantee <> m.owner AND (x.grantee <> 0 OR m.kind NOT IN ('ROUTINE', 'TYPE'))
    LOOP
        EXECUTE format('REVOKE ALL ON %s %s FROM %s CASCADE', granted.kind, granted.name, granted.grantee);
    END LOOP;
END
$do$;
-- Nor do they take from everybody what functions and types have: without it nobody takes an id.
DO $do$
DECLARE
    member record;
BEGIN
    FOR member IN SELECT m.kind, m.name
        FROM pg_depend d
        CROSS JOIN LATERAL (
            SELECT 'EXECUTE ON ROUTINE', p.oid::regprocedure::text, p.proacl
                FROM pg_proc p WHERE d.classid = 'pg_proc'::regclass AND p.oid = d.objid
            UNION ALL SELECT 'USAGE ON TYPE', t.oid::regtype::text, t.typacl
                FROM pg_type t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid AND t.typcategory <> 'A'
        ) AS m (kind, name, acl)
        WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
            AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'shardid')
            AND m.acl IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(m.acl) x WHERE x.grantee = 0)
    LOOP
        EXECUTE format('GRANT %s %s TO PUBLIC', member.kind, member.name);
    END LOOP;
END
$do$;
GRANT USAGE ON SCHEMA shardid TO PUBLIC;
GRANT SELECT ON shardid.layout, shardid.shard, shardid.id_sequence, shardid.dropped_id_sequence, shardid.cluster,
    shardid.ticket, shardid.server, shardid.segment, shardid.shard_term,
    shardid.layouts, shardid.shards, shardid.tickets, shardid.segments TO PUBLIC;
-- It does as its owner what its caller was allowed to by page::backend::may_use.
-- Whoever could make a trigger of one on a table of his own would do with it what only the
-- extension's tables are to do.
DO $do$
DECLARE
    called regprocedure;
BEGIN
    FOR called IN SELECT DISTINCT t.tgfoid::regprocedure FROM pg_trigger t
        JOIN pg_depend c ON c.classid = 'pg_class'::regclass AND c.objid = t.tgrelid AND c.deptype = 'e'
        JOIN pg_depend p ON p.classid = 'pg_proc'::regclass AND p.objid = t.tgfoid AND p.deptype = 'e'
        JOIN pg_extension e ON e.oid = c.refobjid AND e.oid = p.refobjid AND e.extname = 'shardid'
        WHERE NOT t.tgisinternal
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called);
    END LOOP;
END
$do$;
REVOKE EXECUTE ON FUNCTION shardid.refuse_write() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION shardid.take_gapless(text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION shardid.generator_last_for_monitor(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION shardid.generator_last_for_monitor(regclass) TO pg_monitor;
REVOKE EXECUTE ON FUNCTION
    @extschema@.create_layout(text, timestamptz, interval, bigint, bigint, bigint, boolean),
    @extschema@.create_shard(integer, name, text, boolean, bigint),
    @extschema@.drop_shard(integer),
    @extschema@.create_id_sequence(text, integer, text, boolean),
    @extschema@.adopt_shard(integer),
    @extschema@.create_ticket(text, integer, integer, boolean),
    @extschema@.drop_ticket(text),
    @extschema@.create_segment(text, bigint, bigint, integer, integer, boolean),
    @extschema@.alter_segment(text, bigint),
    @extschema@.drop_segment(text),
    shardid.known_ticket(text),
    shardid.hold_ticket(shardid.ticket),
    shardid.set_ticket(shardid.ticket, bigint),
    shardid.make_ticket(text, integer, integer, bigint, boolean),
    shardid.create_ticket_above(text, integer, integer, bigint),
    shardid.limit_ticket(text, bigint),
    shardid.restep_ticket(text, integer, integer, bigint),
    shardid.raise_ticket(text, bigint),
    shardid.raise_segment(text, bigint),
    shardid.create_generator(name, name, integer, text, bigint, boolean),
    shardid.raise_horizon(bigint, text),
    shardid.go_on_above(regclass, bigint),
    shardid.carry_generator(regclass, integer, bigint, text),
    shardid.place_shards(text, text, text, integer, bigint, integer[], text[]),
    shardid.rename_node(text, text, text),
    shardid.claim_shard(integer, bigint), shardid.check_term(integer, bigint)
    FROM PUBLIC;
GRANT SELECT ON SEQUENCE shardid.horizon, shardid.largest_drift, shardid.restored TO PUBLIC;
-- What a script grants is no part of a dump, and names for good to whom: not a role, which may leave.
GRANT SELECT ON SEQUENCE shardid.horizon, shardid.largest_drift, shardid.restored TO pg_database_owner WITH GRANT OPTION;
GRANT USAGE ON SCHEMA shardid TO pg_database_owner WITH GRANT OPTION;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    shardid.layout, shardid.shard, shardid.id_sequence, shardid.dropped_id_sequence, shardid.cluster,
    shardid.ticket, shardid.server, shardid.segment, shardid.shard_term
    TO pg_database_owner WITH GRANT OPTION;
GRANT EXECUTE ON FUNCTION
    @extschema@.create_layout(text, timestamptz, interval, bigint, bigint, bigint, boolean),
    @extschema@.create_shard(integer, name, text, boolean, bigint),
    @extschema@.drop_shard(integer),
    @extschema@.create_id_sequence(text, integer, text, boolean),
    @extschema@.adopt_shard(integer),
    @extschema@.create_ticket(text, integer, integer, boolean),
    @extschema@.drop_ticket(text),
    @extschema@.create_segment(text, bigint, bigint, integer, integer, boolean),
    @extschema@.alter_segment(text, bigint),
    @extschema@.drop_segment(text),
    shardid.known_ticket(text),
    shardid.hold_ticket(shardid.ticket),
    shardid.set_ticket(shardid.ticket, bigint),
    shardid.make_ticket(text, integer, integer, bigint, boolean),
    shardid.create_ticket_above(text, integer, integer, bigint),
    shardid.limit_ticket(text, bigint),
    shardid.restep_ticket(text, integer, integer, bigint),
    shardid.raise_ticket(text, bigint),
    shardid.raise_segment(text, bigint),
    shardid.create_generator(name, name, integer, text, bigint, boolean),
    shardid.raise_horizon(bigint, text),
    shardid.place_shards(text, text, text, integer, bigint, integer[], text[]),
    shardid.rename_node(text, text, text),
    shardid.claim_shard(integer, bigint), shardid.check_term(integer, bigint)
    TO pg_database_owner WITH GRANT OPTION;

DO $do$
DECLARE
    installer regrole := (SELECT e.extowner FROM pg_extension e WHERE e.extname = 'shardid');
BEGIN
    IF NOT pg_has_role(installer, 'pg_database_owner', 'USAGE') AND pg_has_role(installer, 'pg_database_owner', 'MEMBER') THEN
        RAISE WARNING 'role % may use what shardid has, and make nothing, as it does not inherit', installer
            USING DETAIL = 'It owns the database, and PostgreSQL gives it the rights of an owner on database objects only where it inherits.',
                HINT = format('ALTER ROLE %s INHERIT; or SET ROLE pg_database_owner; and grant them as its page on privileges says.', installer);
    ELSIF NOT pg_has_role(installer, 'pg_database_owner', 'USAGE') THEN
        RAISE WARNING 'role % may use what shardid has, and make nothing', installer
            USING DETAIL = 'To make shards, id sequences, tickets and segments is for the database''s owner, and for whom that role grants it.',
                HINT = 'Its page on privileges says what to grant.';
    END IF;
END
$do$;

-- An event trigger may have given what was made here to another role, who could put triggers of his own on it, which run with
-- the rights of whoever makes a ticket.
DO $do$
DECLARE
    others text;
BEGIN
    SELECT string_agg(format('%s of role %s', pg_describe_object(o.classid, o.objid, 0), r.rolname), ', '
        ORDER BY o.classid, o.objid) INTO others
    FROM pg_shdepend o
    JOIN pg_roles r ON r.oid = o.refobjid AND NOT r.rolsuper
    JOIN pg_depend d ON d.classid = o.classid AND d.objid = o.objid AND d.objsubid = 0 AND d.deptype = 'e'
        AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT e.oid FROM pg_extension e WHERE e.extname = 'shardid')
    WHERE o.dbid = (SELECT b.oid FROM pg_database b WHERE b.datname = current_database())
        AND o.objsubid = 0 AND o.deptype = 'o' AND o.refclassid = 'pg_authid'::regclass;
    IF others IS NOT NULL THEN
        RAISE EXCEPTION 'shardid cannot be installed while what it makes is given to a role that is no superuser'
            USING ERRCODE = '42501', DETAIL = others || '.',
                HINT = 'An event trigger does that: ALTER EVENT TRIGGER ... DISABLE; then this again, and ENABLE. Events of an extension are those where pg_event_trigger_ddl_commands() says in_extension.';
    END IF;
END
$do$;
