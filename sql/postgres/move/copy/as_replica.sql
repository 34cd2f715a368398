-- What comes is a copy: triggers, and the guard of the copy, are for clients.
SET LOCAL session_replication_role = replica
