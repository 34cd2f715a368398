-- What this user may do, by itself and by the roles that are active.
SHOW GRANTS
