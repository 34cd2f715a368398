-- A statement by which a transaction sees what another one has exported ($1).
SELECT format('SET TRANSACTION SNAPSHOT %L', $1::text) AS statement
