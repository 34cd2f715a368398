-- Whether SYSDATE stands still like NOW, and cannot tell where a session has set the time.
SELECT sleep(0.002) = 0 AND sysdate(6) = now(6) AS stands_still
