-- Which of the two engines this is.
SELECT @@version LIKE '%MariaDB%' AS is_mariadb
