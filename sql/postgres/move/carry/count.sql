-- A statement that counts a table ($1, quoted).
SELECT format('SELECT count(*), ''''::text FROM ONLY %s t', $1::text) AS statement
