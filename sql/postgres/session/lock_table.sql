-- A statement that keeps what a name ($1) means from being replaced while it is read.
SELECT format('LOCK TABLE %s IN ACCESS SHARE MODE', $1::text) AS statement
