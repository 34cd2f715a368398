-- Nothing at or above the ceiling is handed out any more.
SELECT shardid.limit_ticket($1, $2)
