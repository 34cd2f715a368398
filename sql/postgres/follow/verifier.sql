-- What this server keeps of the secret of a role ($1).
SELECT rolpassword AS verifier FROM pg_authid WHERE rolname = $1
