-- Ends the transaction; what it has changed holds.
COMMIT
