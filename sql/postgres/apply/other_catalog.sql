-- Whether this node keeps a catalog, with a journal of moves.
SELECT to_regclass('shardid.catalog') IS NOT NULL AND to_regclass('shardid.move') IS NOT NULL AS is_there
