-- Lets a role ($1) by which another database of this server is followed follow this one.
SELECT format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), $1::text) AS statement
