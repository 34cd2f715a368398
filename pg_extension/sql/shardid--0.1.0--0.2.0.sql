-- shardid 0.1.0 to 0.2.0
--
-- What a sequence's page says is bound to its file, and three numbers of the database
-- tell how far ids may reach where a generator does not know it. Functions that hand
-- something out no longer run in parallel workers, which do not know READ ONLY.

\echo Use "ALTER EXTENSION shardid UPDATE" to load this file. \quit

CREATE SEQUENCE shardid.horizon AS bigint MINVALUE -1 START 0 NO CYCLE;
COMMENT ON SEQUENCE shardid.horizon IS
    'an instant, in microseconds since 1970: no id of this database lies beyond it; a generator that was restarted goes on from there';
CREATE SEQUENCE shardid.largest_drift AS bigint MINVALUE -1 START 0 NO CYCLE;
COMMENT ON SEQUENCE shardid.largest_drift IS
    'the largest shardid.max_drift, in milliseconds, that ids were taken with: after a restore to a point in time they begin so far ahead';

-- No dump carries them: pg_restore -a would put them back in a database that goes on, and a
-- crash then leaves nothing that knows how far ids went. What a dump says of the generators
-- themselves is where they stood.

-- It begins where the present generators stand; a tick later, since id_time() is its beginning.
SELECT pg_catalog.setval('shardid.horizon', (SELECT EXTRACT(epoch FROM greatest(
        pg_catalog.clock_timestamp(), max(id_time(pg_catalog.pg_sequence_last_value(g.sequence), g.layout) + l.tick)
    ))::numeric * 1000000
    FROM (SELECT s.sequence, s.layout FROM shardid.shard s UNION ALL SELECT s.sequence, s.layout FROM shardid.id_sequence s) AS g
    JOIN shardid.layout l ON l.name = g.layout
    JOIN pg_catalog.pg_class c ON c.oid = g.sequence AND c.relkind = 'S')::bigint);

ALTER FUNCTION next_id(integer) PARALLEL RESTRICTED;
ALTER FUNCTION next_id() PARALLEL RESTRICTED;
ALTER FUNCTION next_id_from(regclass) PARALLEL RESTRICTED;
ALTER FUNCTION next_ids(integer, integer) PARALLEL RESTRICTED;
ALTER FUNCTION next_ticket(text) PARALLEL RESTRICTED;
ALTER FUNCTION next_tickets(text, integer) PARALLEL RESTRICTED;
ALTER FUNCTION shardid.take_numbers(regclass, bigint) PARALLEL RESTRICTED;
ALTER FUNCTION next_segment(text, bigint) PARALLEL RESTRICTED;
-- Those that create_shard() has made in the shards' schemas, or a user likewise.
DO $do$
DECLARE
    made regprocedure;
BEGIN
    FOR made IN SELECT p.oid::regprocedure FROM pg_catalog.pg_depend d
        JOIN pg_catalog.pg_proc p ON p.oid = d.objid
        WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.refclassid = 'pg_catalog.pg_proc'::regclass
            AND d.refobjid = '@extschema@.next_id(integer)'::regprocedure
            AND p.proname = 'next_id' AND p.pronargs = 0
    LOOP
        EXECUTE format('ALTER FUNCTION %s PARALLEL RESTRICTED', made);
    END LOOP;
END
$do$;

DROP FUNCTION shardid.first_id(bigint, text, bigint, boolean);
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
    'the highest id that a generator can have given out; null for one that is lost';

CREATE FUNCTION shardid.raise_horizon(id bigint, layout text) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'raise_horizon_wrapper';
COMMENT ON FUNCTION shardid.raise_horizon(bigint, text) IS
    'has the horizon be no earlier than an id, whose generator nobody here has known so far';

CREATE FUNCTION shardid.wait_for_clock(id bigint, layout text) RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wait_for_clock_wrapper';
COMMENT ON FUNCTION shardid.wait_for_clock(bigint, text) IS
    'waits until the clock has passed the tick of an id, if that is no further ahead than ids may be; returns whether it has';

DROP FUNCTION shardid.create_generator(name, name, integer, text, bigint, boolean);
CREATE FUNCTION shardid.create_generator(
    schema name, name name, shard integer, layout text, floor bigint, replaces boolean
) RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule shardid.layout := shardid.layout_of(shard, layout);
    first bigint := shardid.first_id(shard, layout, floor);
    path text := format('%I.%I', schema, name);
    present pg_sequence;
    called boolean;
    last bigint;
BEGIN
    IF to_regclass(path) IS NULL THEN
        EXECUTE format('CREATE SEQUENCE %s AS bigint INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE 1 NO CYCLE',
            path, rule.shards * rule.slots, shard * rule.slots,
            -- In this order: the last shard's last id may be the largest bigint there is.
            ((rule.ticks - 1) * rule.shards + shard) * rule.slots + (rule.slots - 1), first);
        -- Of one that replaces another, next_id() takes it that ids were given out above
        -- it, and begins beyond the horizon.
        PERFORM shardid.begin_generator(path::regclass, first, replaces);
    ELSE
        SELECT * INTO present FROM pg_sequence s WHERE s.seqrelid = to_regclass(path);
        IF present.seqincrement IS DISTINCT FROM rule.shards * rule.slots OR present.seqmin <> shard * rule.slots THEN
            RAISE EXCEPTION 'relation % exists already and is not an id sequence of shard % with layout "%"', path, shard, layout
                USING ERRCODE = '42P07', HINT = 'Choose another schema or name, or rename what is there: ALTER … RENAME TO …;';
        END IF;
        -- Its generator from before, left by an extension that was dropped, or restored: it
        -- knows where it stands, and next_id() goes on above that. Unless it came from a
        -- dump without data: then its ids may go as far as the drift allows.
        EXECUTE format('SELECT is_called, last_value FROM %s', path) INTO called, last;
        IF NOT called THEN
            first := shardid.first_id(shard, layout, greatest(floor,
                @extschema@.id_at(clock_timestamp() + current_setting('shardid.max_drift')::interval, layout)));
        END IF;
        IF floor IS NOT NULL OR NOT called THEN
            PERFORM setval(path, greatest(first, last));
        END IF;
        -- If it is restarted before it has given an id, nothing else knows of those.
        PERFORM shardid.raise_horizon(greatest(last, CASE WHEN called THEN
            shardid.last_id_at_most(path::regclass, shard, layout) END), layout);
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
    'makes the sequence behind a shard or an id sequence; its increment is one whole tick; replaces: its shard had another one before';

CREATE OR REPLACE FUNCTION create_shard(
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
    IF known.layout <> layout AND known.floor > shardid.first_id(shard, layout, NULL) THEN
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
    generator := shardid.create_generator(path, 'shard_id_seq', shard, layout, known.floor, known.shard IS NOT NULL);
    EXECUTE format('COMMENT ON SEQUENCE %s IS %L', generator,
        format('id generator of shard %s (layout %s): use next_id(%s)', shard, layout, shard));
    EXECUTE format('CREATE OR REPLACE FUNCTION %I.next_id() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL RESTRICTED RETURN %s.next_id(%s)',
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

CREATE OR REPLACE FUNCTION drop_shard(shard integer) RETURNS void
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
    -- The row remembers how far ids went. Where the row goes too, by DROP EXTENSION, the
    -- clock must do: a shard made then begins at what it reads. Most of it without a lock.
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known.sequence AND c.relkind = 'S') THEN
        PERFORM shardid.wait_for_clock(shardid.last_id_at_most(known.sequence, shard, known.layout), known.layout);
    END IF;
    -- The trigger on this row waits until nobody takes ids from the sequence any more.
    UPDATE shardid.shard s SET state = 'dropped' WHERE s.shard = drop_shard.shard;
    FOR i IN 1 .. cardinality(made) LOOP
        EXECUTE format('DROP FUNCTION %s', made[i]);
    END LOOP;
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known.sequence AND c.relkind = 'S') THEN
        last := shardid.last_id_at_most(known.sequence, shard, known.layout);
        PERFORM shardid.wait_for_clock(last, known.layout);
        EXECUTE format('DROP SEQUENCE %s', known.sequence);
    ELSIF known.sequence IS NOT NULL THEN
        -- It went with its schema: ids may have reached up to the horizon.
        last := shardid.last_id_at_most(NULL, shard, known.layout);
        PERFORM shardid.wait_for_clock(last, known.layout);
    END IF;
    UPDATE shardid.shard s SET sequence = NULL, floor = greatest(known.floor, last)
        WHERE s.shard = drop_shard.shard;
END
$$;
COMMENT ON FUNCTION drop_shard(integer) IS
    'forget a shard and drop its sequence, once the clock has passed its last id; its schema and tables stay, and its ids never come again';

CREATE OR REPLACE FUNCTION create_id_sequence(name text, shard integer, layout text DEFAULT 'instagram')
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
-- No search_path here: the name is looked up where the caller would have it made.
DECLARE
    parts text[] := pg_catalog.parse_ident(name);
    generator regclass;
    known shardid.id_sequence;
    replaces boolean;
BEGIN
    IF pg_catalog.cardinality(parts) OPERATOR(pg_catalog.=) 1 THEN
        parts := pg_catalog.array_prepend(pg_catalog.current_schema()::text, parts);
    END IF;
    IF pg_catalog.cardinality(parts) OPERATOR(pg_catalog.<>) 2 OR parts[1] IS NULL THEN
        RAISE EXCEPTION '"%" is not the name of a sequence', name
            USING ERRCODE = '42602', HINT = 'Give a name, or schema.name.';
    END IF;
    SELECT * INTO known FROM shardid.id_sequence s
        WHERE s.sequence OPERATOR(pg_catalog.=) pg_catalog.to_regclass(pg_catalog.format('%I.%I', parts[1], parts[2]))
            AND s.shard OPERATOR(pg_catalog.=) create_id_sequence.shard AND s.layout OPERATOR(pg_catalog.=) create_id_sequence.layout;
    IF FOUND THEN
        RAISE EXCEPTION 'id sequence % exists already', known.sequence
            USING ERRCODE = '42710', HINT = 'SELECT * FROM shardid.id_sequence;';
    END IF;
    -- One of this shard that was dropped may have had this name.
    replaces := EXISTS (SELECT FROM shardid.id_sequence s WHERE s.shard OPERATOR(pg_catalog.=) create_id_sequence.shard
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) s.sequence::oid));
    generator := shardid.create_generator(parts[1], parts[2], shard, layout, NULL, replaces);
    INSERT INTO shardid.id_sequence VALUES (generator, shard, layout);
    RETURN generator;
END
$$;
COMMENT ON FUNCTION create_id_sequence(text, integer, text) IS
    'make an id generator of its own, for one table: sequence name, shard, layout; ids by next_id_from()';

REVOKE EXECUTE ON FUNCTION shardid.create_generator(name, name, integer, text, bigint, boolean), shardid.raise_horizon(bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION shardid.create_generator(name, name, integer, text, bigint, boolean), shardid.raise_horizon(bigint, text)
    TO @extowner@ WITH GRANT OPTION;
-- Whoever dumps the database reads them, and who restores it sets them.
GRANT SELECT ON SEQUENCE shardid.horizon, shardid.largest_drift TO PUBLIC;
GRANT SELECT, UPDATE ON SEQUENCE shardid.horizon, shardid.largest_drift TO @extowner@ WITH GRANT OPTION;

-- Which program may move a shard. Whoever begins to work on a move claims its shard on both
-- nodes for a term, higher than all before. What a program does here asks in the same
-- transaction whether the shard is still claimed for its term, so that nothing which was
-- under way when another took over can come late.

CREATE TABLE shardid.shard_term (
    shard integer PRIMARY KEY,
    term bigint NOT NULL
);
COMMENT ON TABLE shardid.shard_term IS 'the program that moves a shard claims it for a term; none with a lower one changes anything';

CREATE FUNCTION shardid.claim_shard(shard integer, term bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM pg_advisory_xact_lock(324843901, shard);
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
    PERFORM pg_advisory_xact_lock_shared(324843901, shard);
    SELECT t.term INTO known FROM shardid.shard_term t WHERE t.shard = check_term.shard;
    IF known IS DISTINCT FROM term THEN
        RAISE EXCEPTION 'another program has taken over the move of shard %', shard
            USING ERRCODE = '55000', DETAIL = format('Its term is %s, and the term here is %s.', known, term),
                HINT = 'shardid moves shows who works on it.';
    END IF;
END
$$;
COMMENT ON FUNCTION shardid.check_term(integer, bigint) IS
    'refuse to go on where a shard is claimed for another term; the claim stays until the transaction ends';

REVOKE EXECUTE ON FUNCTION shardid.claim_shard(integer, bigint), shardid.check_term(integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION shardid.claim_shard(integer, bigint), shardid.check_term(integer, bigint)
    TO @extowner@ WITH GRANT OPTION;
GRANT SELECT ON shardid.shard_term TO PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON shardid.shard_term TO @extowner@ WITH GRANT OPTION;
