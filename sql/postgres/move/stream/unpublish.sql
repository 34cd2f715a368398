-- Drops a publication, if it is there.
SELECT format('DROP PUBLICATION %I', pubname) AS statement FROM pg_publication WHERE pubname = $1
