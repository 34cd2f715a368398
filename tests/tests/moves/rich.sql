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
    mood "@".mood, address "@".address, span "@".span, code "@".code,
    made timestamptz NOT NULL DEFAULT '2026-11-21 08:00+00',
    loud text GENERATED ALWAYS AS ("@".shout(email)) STORED,
    note text DEFAULT 'it''s');
CREATE TABLE "@".orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer bigint REFERENCES "@".customer ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    total numeric(12, 2) CONSTRAINT "total is positive" CHECK (total >= 0),
    doc jsonb, tags text[], paid interval, raw bytea);
CREATE TABLE "@"."We""ird ""Table" ("from" int, "ünï cödé" text, CONSTRAINT "odd key; name" PRIMARY KEY ("from"));
CREATE TABLE "@".log (at timestamptz, what text, size float8);
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
