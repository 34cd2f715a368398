-- What MySQL knows a server by, and MariaDB has not. SHOW VARIABLES makes other letters of it where sessions begin with another
-- character_set_filesystem.
SELECT CAST(/*!80000 @@GLOBAL.server_uuid */ /*M! '' */ AS CHAR CHARACTER SET utf8mb4)
