-- The superuser comes by the socket alone, which only its owner can reach; by TCP
-- there is one user, with a password. May be run again.
DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1';
CREATE USER IF NOT EXISTS 'shardid'@'127.0.0.1' IDENTIFIED BY 'PASSWORD';
GRANT ALL ON *.* TO 'shardid'@'127.0.0.1' WITH GRANT OPTION;
CREATE DATABASE IF NOT EXISTS app;
