-- Makes schema shardid and, in the first schema of the path, the user functions.
CREATE EXTENSION IF NOT EXISTS shardid
