-- Whether the extension is there, with the table that says of which cluster this is.
SELECT EXISTS (SELECT FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner
                WHERE c.oid = to_regclass('shardid.cluster') AND c.relkind = 'r' AND o.rolsuper)
