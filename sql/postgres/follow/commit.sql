-- Ends a transaction, and what was set for it.
COMMIT
