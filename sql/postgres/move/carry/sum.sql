-- A statement that counts a table ($1, quoted) and sums its rows in any order. Its row is not named by
-- the alias alone: that could be a column.
SELECT format('SELECT count(*), coalesce(sum(hashtextextended(ROW(t.*)::text, 0)::numeric), 0)::text FROM ONLY %s t', $1::text) AS statement
