-- A transaction that goes on seeing what its first query saw.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
