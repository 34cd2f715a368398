-- A schema with one of everything that a move carries. SCHEMA and SHARD are
-- filled in.
COMMENT ON SCHEMA "SCHEMA" IS 'odd';
CREATE TYPE "SCHEMA".mood AS ENUM ('low', 'high');
ALTER TYPE "SCHEMA".mood ADD VALUE 'middle' AFTER 'low';
CREATE TYPE "SCHEMA".address AS (street text, number int);
CREATE TYPE "SCHEMA".span AS RANGE (subtype = float8);
CREATE DOMAIN "SCHEMA".code AS text CHECK (VALUE ~ '^[a-z]+$') DEFAULT 'none';
COMMENT ON TYPE "SCHEMA".mood IS 'how it is';
CREATE FUNCTION "SCHEMA".shout(t text) RETURNS text LANGUAGE sql IMMUTABLE RETURN upper(t);
CREATE TABLE "SCHEMA".customer (
    id bigint PRIMARY KEY DEFAULT "SCHEMA".next_id(),
    email text COLLATE "C" NOT NULL UNIQUE,
    mood "SCHEMA".mood, address "SCHEMA".address, span "SCHEMA".span, code "SCHEMA".code,
    made timestamptz NOT NULL DEFAULT '2026-11-21 08:00+00',
    loud text GENERATED ALWAYS AS ("SCHEMA".shout(email)) STORED,
    note text DEFAULT 'it''s');
CREATE TABLE "SCHEMA".orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer bigint REFERENCES "SCHEMA".customer ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    total numeric(12, 2) CONSTRAINT "total is positive" CHECK (total >= 0),
    doc jsonb, tags text[], paid interval, raw bytea);
CREATE TABLE "SCHEMA"."We""ird ""Table" ("from" int, "ünï cödé" text, CONSTRAINT "odd key; name" PRIMARY KEY ("from"));
CREATE TABLE "SCHEMA".log (at timestamptz, what text, size float8);
ALTER TABLE "SCHEMA".log REPLICA IDENTITY FULL;
CREATE TABLE "SCHEMA".pair (a int NOT NULL, b int NOT NULL, c text);
CREATE UNIQUE INDEX "pair of both" ON "SCHEMA".pair (a, b);
ALTER TABLE "SCHEMA".pair REPLICA IDENTITY USING INDEX "pair of both";
CREATE TABLE "SCHEMA".event (id bigint, at date, what text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE "SCHEMA".event_1 PARTITION OF "SCHEMA".event FOR VALUES FROM ('2026-01-01') TO ('2026-07-01');
CREATE TABLE "SCHEMA".event_2 PARTITION OF "SCHEMA".event FOR VALUES FROM ('2026-07-01') TO ('2027-01-01');
CREATE TABLE "SCHEMA".event_rest PARTITION OF "SCHEMA".event DEFAULT;
CREATE INDEX ON "SCHEMA".event (what);
CREATE TABLE "SCHEMA".special (extra text, PRIMARY KEY (id)) INHERITS ("SCHEMA".customer);
CREATE SEQUENCE "SCHEMA".invoice INCREMENT 5 START 10;
ALTER SEQUENCE "SCHEMA".invoice RESTART WITH 500;
CREATE SEQUENCE "SCHEMA".used CACHE 7;
SELECT nextval('"SCHEMA".used'), nextval('"SCHEMA".used');
SELECT create_id_sequence('"SCHEMA".ticket_ids', SHARD);
CREATE TABLE "SCHEMA".ticket (id bigint PRIMARY KEY DEFAULT next_id_from('"SCHEMA".ticket_ids'), of text);
CREATE INDEX "by mood" ON "SCHEMA".customer (mood) WHERE note IS NOT NULL;
CREATE INDEX ON "SCHEMA".customer ("SCHEMA".shout(note));
CREATE INDEX ON "SCHEMA".orders USING gin (doc);
CREATE STATISTICS "SCHEMA".both ON customer, total FROM "SCHEMA".orders;
CREATE VIEW "SCHEMA".spent WITH (security_barrier) AS
    SELECT c.id, c.email, sum(o.total) AS total FROM "SCHEMA".customer c JOIN "SCHEMA".orders o ON o.customer = c.id GROUP BY c.id;
CREATE FUNCTION "SCHEMA".noted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- a line that begins with a backslash follows
\x is no command of psql
    INSERT INTO "SCHEMA".log VALUES (now(), TG_OP, 0.1);
    RETURN NULL;
END
$$;
ALTER FUNCTION "SCHEMA".noted() SET search_path = pg_catalog;
CREATE OR REPLACE FUNCTION "SCHEMA".noted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO "SCHEMA".log VALUES ('2026-11-21', TG_OP || '
\x is no command of psql', 0.1);
    RETURN NULL;
END
$$;
CREATE TRIGGER noted AFTER INSERT ON "SCHEMA".orders FOR EACH ROW EXECUTE FUNCTION "SCHEMA".noted();
CREATE FUNCTION "SCHEMA".keep(wanted text) RETURNS bigint BEGIN ATOMIC
    INSERT INTO "SCHEMA".customer (email) VALUES (wanted) ON CONFLICT ON CONSTRAINT customer_email_key DO UPDATE SET note = 'again' RETURNING id;
END;
CREATE PROCEDURE "SCHEMA".nothing() LANGUAGE sql AS 'SELECT 1';
CREATE AGGREGATE "SCHEMA".joined (text) (SFUNC = textcat, STYPE = text);
CREATE OPERATOR "SCHEMA".=== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq);
CREATE RULE no_delete AS ON DELETE TO "SCHEMA".spent DO INSTEAD NOTHING;
ALTER TABLE "SCHEMA".ticket ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON "SCHEMA".ticket TO app_reader USING (of = current_user);
GRANT USAGE ON SCHEMA "SCHEMA" TO app_reader;
GRANT SELECT ON "SCHEMA".customer, "SCHEMA".spent TO app_reader WITH GRANT OPTION;
GRANT UPDATE (note) ON "SCHEMA".customer TO app_writer;
GRANT USAGE ON SEQUENCE "SCHEMA".ticket_ids TO app_writer;
REVOKE EXECUTE ON FUNCTION "SCHEMA".shout(text) FROM PUBLIC;
ALTER TABLE "SCHEMA".pair OWNER TO app_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA "SCHEMA" GRANT SELECT ON TABLES TO app_reader;
COMMENT ON TABLE "SCHEMA".customer IS 'people';
COMMENT ON COLUMN "SCHEMA".customer.loud IS 'louder';
COMMENT ON INDEX "SCHEMA"."by mood" IS 'an index';
COMMENT ON CONSTRAINT "total is positive" ON "SCHEMA".orders IS 'a constraint';
COMMENT ON CONSTRAINT "odd key; name" ON "SCHEMA"."We""ird ""Table" IS 'a key';
COMMENT ON TRIGGER noted ON "SCHEMA".orders IS 'a trigger';
COMMENT ON POLICY own ON "SCHEMA".ticket IS 'a policy';
COMMENT ON RULE no_delete ON "SCHEMA".spent IS 'a rule';
COMMENT ON FUNCTION "SCHEMA".noted() IS 'a function';
COMMENT ON SEQUENCE "SCHEMA".invoice IS 'a sequence';
COMMENT ON VIEW "SCHEMA".spent IS 'a view';
COMMENT ON STATISTICS "SCHEMA".both IS 'statistics';

INSERT INTO "SCHEMA".customer (email, mood, address, span, code, note)
    SELECT 'c' || n, 'middle', ROW('road', n), '[1,2)', 'abc', nullif('note ' || n % 3, 'note 0') FROM generate_series(1, 50) n;
INSERT INTO "SCHEMA".orders (customer, total, doc, tags, paid, raw)
    SELECT id, 1.5, '{"a": 1}', ARRAY['x', NULL], '1 day 02:03', '\xdeadbeef' FROM "SCHEMA".customer;
INSERT INTO "SCHEMA"."We""ird ""Table" SELECT n, 'ä"' || n FROM generate_series(1, 20) n;
INSERT INTO "SCHEMA".log SELECT '2026-11-21', 'same', 'NaN' FROM generate_series(1, 5);
INSERT INTO "SCHEMA".pair SELECT n, n % 3, 'p' FROM generate_series(1, 20) n;
INSERT INTO "SCHEMA".event SELECT n, '2026-01-01'::date + 14 * n, 'e' FROM generate_series(1, 30) n;
INSERT INTO "SCHEMA".special (email, extra) VALUES ('special', 'x');
INSERT INTO "SCHEMA".ticket (of) SELECT 'app_reader' FROM generate_series(1, 10);
