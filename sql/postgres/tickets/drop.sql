-- The ticket is forgotten.
SELECT drop_ticket($1)
