-- Changes of every kind to what rich.sql has made.
INSERT INTO "@".customer (email, mood) VALUES ('new', 'low');
UPDATE "@".customer SET note = 'changed', address.number = 7 WHERE email < 'c3';
DELETE FROM "@".customer WHERE email = 'c50';
UPDATE "@".customer SET id = "@".next_id() WHERE email = 'special';
INSERT INTO "@".orders (customer, total) SELECT id, 2 FROM "@".customer WHERE email = 'new';
UPDATE "@"."We""ird ""Table" SET "ünï cödé" = 'other' WHERE "from" < 5;
UPDATE "@"."We""ird ""Table" SET "from" = 100 WHERE "from" = 20;
DELETE FROM "@".log WHERE ctid = (SELECT min(ctid) FROM "@".log WHERE what = 'same');
UPDATE "@".log SET size = 3 WHERE what <> 'same';
UPDATE "@".pair SET a = a + 100 WHERE a > 15;
DELETE FROM "@".pair WHERE a < 4;
UPDATE "@".event SET at = at + 200 WHERE id < 10;
INSERT INTO "@".event VALUES (99, '2030-01-01', 'late');
TRUNCATE "@".ticket;
INSERT INTO "@".ticket (of) SELECT 'app_reader' FROM generate_series(1, 3);
TRUNCATE "@".event_2;
BEGIN; INSERT INTO "@".ticket (of) VALUES ('undone'); ROLLBACK;
BEGIN; INSERT INTO "@".ticket (of) VALUES ('kept'); SAVEPOINT s; INSERT INTO "@".ticket (of) VALUES ('not'); ROLLBACK TO s; COMMIT;
