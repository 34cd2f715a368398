-- Nothing at or above the ceiling is handed out any more.
CALL shardid.limit_ticket(?, ?)
