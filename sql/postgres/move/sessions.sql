-- Whether all of these server processes ($1) are there.
SELECT NOT EXISTS (SELECT FROM unnest($1::integer[]) AS wanted(pid)
                    WHERE NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = wanted.pid)) AS all_there
