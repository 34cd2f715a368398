-- Whether the extension is there, with the table that says of which cluster this is.
SELECT to_regclass('shardid.cluster') IS NOT NULL
