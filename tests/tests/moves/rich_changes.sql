-- Changes of every kind to what rich.sql has made.
INSERT INTO "SCHEMA".customer (email, mood) VALUES ('new', 'low');
UPDATE "SCHEMA".customer SET note = 'changed', address.number = 7 WHERE email < 'c3';
DELETE FROM "SCHEMA".customer WHERE email = 'c50';
UPDATE "SCHEMA".customer SET id = "SCHEMA".next_id() WHERE email = 'special';
INSERT INTO "SCHEMA".orders (customer, total) SELECT id, 2 FROM "SCHEMA".customer WHERE email = 'new';
UPDATE "SCHEMA"."We""ird ""Table" SET "ünï cödé" = 'other' WHERE "from" < 5;
UPDATE "SCHEMA"."We""ird ""Table" SET "from" = 100 WHERE "from" = 20;
DELETE FROM "SCHEMA".log WHERE ctid = (SELECT min(ctid) FROM "SCHEMA".log WHERE what = 'same');
UPDATE "SCHEMA".log SET size = 3 WHERE what <> 'same';
UPDATE "SCHEMA".pair SET a = a + 100 WHERE a > 15;
DELETE FROM "SCHEMA".pair WHERE a < 4;
UPDATE "SCHEMA".event SET at = at + 200 WHERE id < 10;
INSERT INTO "SCHEMA".event VALUES (99, '2030-01-01', 'late');
TRUNCATE "SCHEMA".ticket;
INSERT INTO "SCHEMA".ticket (of) SELECT 'app_reader' FROM generate_series(1, 3);
TRUNCATE "SCHEMA".event_2;
BEGIN; INSERT INTO "SCHEMA".ticket (of) VALUES ('undone'); ROLLBACK;
BEGIN; INSERT INTO "SCHEMA".ticket (of) VALUES ('kept'); SAVEPOINT s; INSERT INTO "SCHEMA".ticket (of) VALUES ('not'); ROLLBACK TO s; COMMIT;
