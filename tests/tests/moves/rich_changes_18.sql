-- The same for what rich_18.sql has made.
UPDATE "@".stay SET x = x + 10;
UPDATE "@".stay SET during = tsrange(lower(during) + interval '1 year', upper(during) + interval '1 year') WHERE x % 2 = 0;
DELETE FROM "@".stay WHERE x = (SELECT max(x) FROM "@".stay);
UPDATE "@".computed_later SET a = a + 1;
UPDATE "@".partly SET a = a + 1 WHERE a IS NOT NULL;
UPDATE "@".booked SET id = id + 100;
DELETE FROM "@".guest;
