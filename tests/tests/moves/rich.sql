-- A schema with one of everything that a move carries. Its name and the shard's
-- number are filled in.
COMMENT ON SCHEMA "@" IS 'odd';
CREATE TYPE "@".mood AS ENUM ('low', 'high');
ALTER TYPE "@".mood ADD VALUE 'middle' AFTER 'low';
CREATE TYPE "@".address AS (street text, number int);
CREATE TYPE "@".span AS RANGE (subtype = float8);
CREATE DOMAIN "@".code AS text CHECK (VALUE ~ '^[a-z]+$') DEFAULT 'none';
COMMENT ON TYPE "@".mood IS 'how it is';
CREATE FUNCTION "@".shout(t text) RETURNS text LANGUAGE sql IMMUTABLE RETURN upper(t);
CREATE TABLE "@".customer (
    id bigint PRIMARY KEY DEFAULT "@".next_id(),
    email text COLLATE "C" NOT NULL UNIQUE,
    mood "@".mood, address "@".address, span "@".span, code "@".code, weight float8 DEFAULT 0.1,
    made timestamptz NOT NULL DEFAULT '2026-11-21 08:00+00',
    loud text GENERATED ALWAYS AS ("@".shout(email)) STORED,
    note text DEFAULT 'it''s');
CREATE TABLE "@".orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer bigint REFERENCES "@".customer ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    total numeric(12, 2) CONSTRAINT "total is positive" CHECK (total >= 0),
    doc jsonb, tags text[], paid interval, raw bytea);
CREATE TABLE "@"."We""ird ""Table" ("from" int, "ünï cödé" text, CONSTRAINT "odd key; name" PRIMARY KEY ("from"));
CREATE TABLE "@".log (at timestamptz, what text, size numeric(8, 2));
ALTER TABLE "@".log REPLICA IDENTITY FULL;
CREATE TABLE "@".pair (a int NOT NULL, b int NOT NULL, c text);
CREATE UNIQUE INDEX "pair of both" ON "@".pair (a, b);
ALTER TABLE "@".pair REPLICA IDENTITY USING INDEX "pair of both";
CREATE TABLE "@".event (id bigint, at date, what text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE "@".event_1 PARTITION OF "@".event FOR VALUES FROM ('2026-01-01') TO ('2026-07-01');
CREATE TABLE "@".event_2 PARTITION OF "@".event FOR VALUES FROM ('2026-07-01') TO ('2027-01-01');
CREATE TABLE "@".event_rest PARTITION OF "@".event DEFAULT;
CREATE INDEX ON "@".event (what);
CREATE TABLE "@".special (extra text, PRIMARY KEY (id)) INHERITS ("@".customer);
CREATE SEQUENCE "@".invoice INCREMENT 5 START 10;
ALTER SEQUENCE "@".invoice RESTART WITH 500;
CREATE SEQUENCE "@".used CACHE 7;
SELECT nextval('"@".used'), nextval('"@".used');
SELECT create_id_sequence('"@".ticket_ids', #);
CREATE TABLE "@".ticket (id bigint PRIMARY KEY DEFAULT next_id_from('"@".ticket_ids'), of text);
CREATE INDEX "by mood" ON "@".customer (mood) WHERE note IS NOT NULL;
CREATE INDEX ON "@".customer ("@".shout(note));
CREATE INDEX ON "@".orders USING gin (doc);
CREATE STATISTICS "@".both ON customer, total FROM "@".orders;
CREATE VIEW "@".spent WITH (security_barrier) AS
    SELECT c.id, c.email, sum(o.total) AS total FROM "@".customer c JOIN "@".orders o ON o.customer = c.id GROUP BY c.id;
CREATE FUNCTION "@".noted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO "@".log VALUES ('2026-11-21', TG_OP || '
\x is no command of psql', 0.1);
    RETURN NULL;
END
$$;
CREATE TRIGGER noted AFTER INSERT ON "@".orders FOR EACH ROW EXECUTE FUNCTION "@".noted();
CREATE FUNCTION "@".keep(wanted text) RETURNS bigint BEGIN ATOMIC
    INSERT INTO "@".customer (email) VALUES (wanted) ON CONFLICT ON CONSTRAINT customer_email_key DO UPDATE SET note = 'again' RETURNING id;
END;
CREATE PROCEDURE "@".nothing() LANGUAGE sql AS 'SELECT 1';
CREATE AGGREGATE "@".joined (text) (SFUNC = textcat, STYPE = text);
CREATE OPERATOR "@".=== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq);
CREATE RULE no_delete AS ON DELETE TO "@".spent DO INSTEAD NOTHING;
ALTER TABLE "@".ticket ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON "@".ticket TO app_reader USING (of = current_user);
CREATE TABLE "@".cached (id int PRIMARY KEY, what text);
ALTER TABLE "@".cached ALTER what SET STORAGE EXTERNAL, ALTER what SET STATISTICS 17, ALTER what SET (n_distinct = 5), SET (fillfactor = 70, toast.autovacuum_enabled = off), CLUSTER ON cached_pkey;
CREATE TABLE "@".of_type OF "@".address (number WITH OPTIONS PRIMARY KEY);
CREATE TABLE "@".apart (a int PRIMARY KEY, during tsrange, EXCLUDE USING gist (during WITH &&));
CREATE COLLATION "@".by_number (provider = icu, locale = 'en-u-kn-true');
CREATE CONVERSION "@".from_latin FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
CREATE TEXT SEARCH DICTIONARY "@".plain (TEMPLATE = pg_catalog.simple);
CREATE TEXT SEARCH TEMPLATE "@".simpler (INIT = dsimple_init, LEXIZE = dsimple_lexize);
CREATE TEXT SEARCH PARSER "@".parts (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype);
CREATE TEXT SEARCH CONFIGURATION "@".words (PARSER = pg_catalog.default);
ALTER TEXT SEARCH CONFIGURATION "@".words ADD MAPPING FOR asciiword WITH "@".plain;
CREATE OPERATOR FAMILY "@".lengths USING btree;
CREATE OPERATOR CLASS "@".by_length FOR TYPE text USING btree FAMILY "@".lengths AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 bttextcmp(text, text);
CREATE VIEW "@".one AS SELECT a, b + 1 AS more, c FROM "@".pair WHERE a > 5 ORDER BY c;
CREATE VIEW "@".kept WITH (security_invoker) AS SELECT * FROM "@".pair WHERE a > 0 WITH LOCAL CHECK OPTION;
CREATE VIEW "@".grouped AS SELECT id, email FROM "@".customer GROUP BY id;
CREATE VIEW "@".each AS WITH RECURSIVE x (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 5) SELECT n, row_number() OVER (ORDER BY n) FROM x GROUP BY GROUPING SETS ((n), ());
CREATE RULE written AS ON INSERT TO "@".one WHERE new.a > 1 DO INSTEAD (INSERT INTO "@".pair VALUES (new.a, new.more); DELETE FROM "@".pair WHERE a = new.a);
CREATE TABLE "@".parent (a int NOT NULL, b int PRIMARY KEY, c int CHECK (c > 0) NO INHERIT, CHECK (a <> b));
CREATE TABLE "@".child (d int NOT NULL, PRIMARY KEY (b)) INHERITS ("@".parent);
CREATE TABLE "@".listed (a int, b text, PRIMARY KEY (a)) PARTITION BY LIST (a);
CREATE TABLE "@".listed_1 PARTITION OF "@".listed FOR VALUES IN (1, 2) PARTITION BY HASH (a);
CREATE TABLE "@".listed_11 PARTITION OF "@".listed_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE "@".listed_12 (b text NOT NULL, a int NOT NULL);
ALTER TABLE "@".listed_1 ATTACH PARTITION "@".listed_12 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE "@".listed_12 ALTER b SET DEFAULT 'q';
CREATE TABLE "@".named (a int CONSTRAINT "own name" NOT NULL, b int NOT NULL PRIMARY KEY, UNIQUE NULLS NOT DISTINCT (a), FOREIGN KEY (a) REFERENCES "@".parent ON DELETE SET NULL (a) NOT VALID);
ALTER TABLE "@".named ADD n int GENERATED BY DEFAULT AS IDENTITY (START 5 INCREMENT 3 CYCLE), ADD CONSTRAINT low CHECK (b < 1000) NOT VALID;
ALTER TABLE "@".named RENAME TO renamed;
ALTER TABLE "@".renamed RENAME b TO bb;
CREATE SEQUENCE "@".small AS smallint MINVALUE -5 MAXVALUE 5 CYCLE OWNED BY "@".renamed.a;
CREATE SEQUENCE "@".quick;
CREATE INDEX ON "@".pair USING brin (a int4_minmax_multi_ops (values_per_range = 16));
CREATE STATISTICS "@".computed ON (a + b), lower(c) FROM "@".pair;
CREATE FUNCTION "@".listing(VARIADIC x int[] DEFAULT '{1}') RETURNS TABLE (a int, b text) LANGUAGE sql STABLE STRICT LEAKPROOF PARALLEL SAFE ROWS 10 SET work_mem = '1MB' AS 'SELECT 1, ''x''';
CREATE PROCEDURE "@".both_ways(INOUT a int, OUT b int) LANGUAGE plpgsql AS 'BEGIN b := 1; END';
CREATE FUNCTION "@".numbered() RETURNS bigint LANGUAGE internal WINDOW PARALLEL RESTRICTED AS 'window_row_number';
CREATE AGGREGATE "@".percentile (float8 ORDER BY anyelement) (SFUNC = ordered_set_transition, STYPE = internal, FINALFUNC = percentile_disc_final, FINALFUNC_EXTRA, FINALFUNC_MODIFY = SHAREABLE);
CREATE AGGREGATE "@".ranked (VARIADIC "any" ORDER BY VARIADIC "any") (SFUNC = ordered_set_transition_multi, STYPE = internal, FINALFUNC = rank_final, FINALFUNC_EXTRA, FINALFUNC_MODIFY = READ_WRITE, HYPOTHETICAL);
CREATE TYPE "@".whole;
CREATE FUNCTION "@".whole_in(cstring) RETURNS "@".whole LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION "@".whole_out("@".whole) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE "@".whole (INPUT = "@".whole_in, OUTPUT = "@".whole_out, LIKE = int4);
CREATE TYPE "@".shell;
CREATE COLLATION "@".alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION "@".by_bytes (locale = 'C');
CREATE OPERATOR CLASS "@".near FOR TYPE point USING gist AS OPERATOR 15 <-> (point, point) FOR ORDER BY float_ops, FUNCTION 1 gist_point_consistent(internal, point, smallint, oid, internal), FUNCTION 2 gist_box_union(internal, internal), FUNCTION 5 gist_box_penalty(internal, internal, internal), FUNCTION 6 gist_box_picksplit(internal, internal), FUNCTION 7 gist_box_same(box, box, internal), FUNCTION 8 gist_point_distance(internal, point, smallint, oid, internal);
GRANT ALL ON ALL TABLES IN SCHEMA "@" TO app_writer;
REVOKE DELETE ON "@".parent FROM postgres;
GRANT USAGE ON SEQUENCE "@".shard_id_seq TO app_writer;
GRANT TRUNCATE, REFERENCES, TRIGGER ON "@".child TO PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA "@" GRANT ALL ON SEQUENCES TO app_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA "@" GRANT ALL ON FUNCTIONS TO app_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA "@" GRANT ALL ON TYPES TO app_writer;
CREATE TRIGGER changed AFTER UPDATE OF note ON "@".customer FOR EACH ROW WHEN (old.note = 'never') EXECUTE FUNCTION "@".noted('x');
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON "@".parent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "@".noted();
GRANT USAGE ON SCHEMA "@" TO app_reader;
GRANT SELECT ON "@".customer, "@".spent TO app_reader WITH GRANT OPTION;
GRANT UPDATE (note) ON "@".customer TO app_writer;
GRANT USAGE ON SEQUENCE "@".ticket_ids TO app_writer;
REVOKE EXECUTE ON FUNCTION "@".shout(text) FROM PUBLIC;
ALTER TABLE "@".pair OWNER TO app_writer;
GRANT USAGE ON SCHEMA "@" TO app_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA "@" GRANT SELECT ON TABLES TO app_reader;
COMMENT ON TABLE "@".customer IS 'people';
COMMENT ON COLUMN "@".customer.loud IS 'louder';
COMMENT ON INDEX "@"."by mood" IS 'an index';
COMMENT ON CONSTRAINT "total is positive" ON "@".orders IS 'a constraint';
COMMENT ON CONSTRAINT "odd key; name" ON "@"."We""ird ""Table" IS 'a key';
COMMENT ON TRIGGER noted ON "@".orders IS 'a trigger';
COMMENT ON POLICY own ON "@".ticket IS 'a policy';
COMMENT ON RULE no_delete ON "@".spent IS 'a rule';
COMMENT ON FUNCTION "@".noted() IS 'a function';
COMMENT ON SEQUENCE "@".invoice IS 'a sequence';
COMMENT ON VIEW "@".spent IS 'a view';
COMMENT ON STATISTICS "@".both IS 'statistics';

INSERT INTO "@".customer (email, mood, address, span, code, note)
    SELECT 'c' || n, 'middle', ROW('road', n)::"@".address, '[1,2)', 'abc', nullif('note ' || n % 3, 'note 0') FROM generate_series(1, 50) n;
INSERT INTO "@".orders (customer, total, doc, tags, paid, raw)
    SELECT id, 1.5, '{"a": 1}', ARRAY['x', NULL], '1 day 02:03', '\xdeadbeef' FROM "@".customer;
INSERT INTO "@"."We""ird ""Table" SELECT n, 'ä"' || n FROM generate_series(1, 20) n;
INSERT INTO "@".log SELECT '2026-11-21', 'same', 'NaN' FROM generate_series(1, 5);
INSERT INTO "@".pair SELECT n, n % 3, 'p' FROM generate_series(1, 20) n;
INSERT INTO "@".event SELECT n, '2026-01-01'::date + 14 * n, 'e' FROM generate_series(1, 30) n;
INSERT INTO "@".special (email, extra) VALUES ('special', 'x');
INSERT INTO "@".ticket (of) SELECT 'app_reader' FROM generate_series(1, 10);
