-- Looking changes nothing (the server enforces it) and waits for nobody for long.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
