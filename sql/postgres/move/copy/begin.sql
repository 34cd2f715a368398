-- A transaction that sees what another one has exported.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
