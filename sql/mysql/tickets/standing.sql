-- How far a change is, and the term of the last program that began to work on it.
SELECT state, `floor`, term FROM shardid.ticket_change WHERE `change` = ?
