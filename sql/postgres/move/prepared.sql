-- The transactions of this server that are prepared, each with its name as a literal of one line: anybody gives them any name.
WITH prepared AS (
    SELECT p.transaction, p.prepared AS since, p.owner, p.database, coalesce(said.literal, quote_literal(p.gid)) AS gid,
           -- By what its locks are known: it has no process.
           (SELECT l.virtualtransaction FROM pg_locks l
             WHERE l.pid IS NULL AND l.locktype = 'transactionid' AND l.transactionid = p.transaction AND l.granted LIMIT 1) AS locks
      FROM pg_prepared_xacts p
     CROSS JOIN LATERAL (
               SELECT 'E''' || string_agg(CASE WHEN c.letter ~ '[[:cntrl:]]' THEN '\u' || lpad(to_hex(ascii(c.letter)), 4, '0')
                                               WHEN c.letter IN ('''', '\') THEN c.letter || c.letter
                                               ELSE c.letter END, '' ORDER BY c.n) || ''''
                 FROM regexp_split_to_table(p.gid, '') WITH ORDINALITY AS c(letter, n)
                WHERE p.gid ~ '[[:cntrl:]]') AS said(literal)
)
