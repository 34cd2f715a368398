-- Ends the transaction; it has changed nothing.
ROLLBACK
