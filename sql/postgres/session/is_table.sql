-- Whether a name ($1) is of a table now, whatever this transaction sees: a view would run what its owner likes.
SELECT coalesce(pg_relation_filenode($1::text::regclass) IS NOT NULL OR pg_partition_root($1::text::regclass) = $1::text::regclass, false)
