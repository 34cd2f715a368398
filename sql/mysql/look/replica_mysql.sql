-- What a server that follows another says of it.
SHOW REPLICA STATUS
