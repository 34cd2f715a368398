-- What the schema of rich.sql has beside that on PostgreSQL 18 and later.
CREATE TABLE "@".computed_later (id int PRIMARY KEY, a int, twice int GENERATED ALWAYS AS (a * 2) VIRTUAL);
CREATE TABLE "@".partly (id int PRIMARY KEY, a int);
INSERT INTO "@".partly VALUES (1, NULL), (2, 2);
ALTER TABLE "@".partly ADD CONSTRAINT "not all" NOT NULL a NOT VALID;
ALTER TABLE "@".partly ADD CONSTRAINT unproved CHECK (a > 1) NOT ENFORCED;
CREATE TABLE "@".booked (room int4range, during tsrange, id int NOT NULL UNIQUE, PRIMARY KEY (room, during WITHOUT OVERLAPS));
ALTER TABLE "@".booked REPLICA IDENTITY USING INDEX booked_id_key;
CREATE TABLE "@".guest (id int PRIMARY KEY, room int4range, during tsrange, FOREIGN KEY (room, PERIOD during) REFERENCES "@".booked (room, PERIOD during));
INSERT INTO "@".computed_later (id, a) VALUES (1, 5), (2, 7);
INSERT INTO "@".booked VALUES ('[1,2)', '[2026-01-01,2026-02-01)', 1), ('[1,2)', '[2026-02-01,2026-03-01)', 2);
INSERT INTO "@".guest VALUES (1, '[1,2)', '[2026-01-10,2026-02-20)');
CREATE TABLE "@".stay (room int4range, during tsrange, x int, PRIMARY KEY (room, during WITHOUT OVERLAPS));
INSERT INTO "@".stay SELECT '[1,2)', tsrange('2026-01-01'::timestamp + n * interval '1 month', '2026-01-20'::timestamp + n * interval '1 month'), n FROM generate_series(1, 5) n;
