-- MariaDB makes a user that is granted something and is not there, without a password, where this is not said.
SET SESSION sql_mode = concat(@@SESSION.sql_mode /*M! , ',NO_AUTO_CREATE_USER' */)
