-- Who owns the publication of a name ($1), if there is one.
SELECT pg_get_userbyid(pubowner)::text FROM pg_publication WHERE pubname = $1
