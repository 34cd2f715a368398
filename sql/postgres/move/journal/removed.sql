-- Notes that an object is gone.
UPDATE shardid.leftover SET removed_at = now() WHERE leftover = $1
