-- What a MySQL server before 8.0.22 that follows another says of it.
SHOW SLAVE STATUS
