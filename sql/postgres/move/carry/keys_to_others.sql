-- The foreign keys of a schema ($1) between tables of several owners, partitions and heirs counted, as the title of a dump
-- has them: whoever has REFERENCES on a table has its expressions computed when a key to it is made.
SELECT format('FK CONSTRAINT %s %s', c.relname, k.conname)
  FROM pg_constraint k
  JOIN pg_class c ON c.oid = k.conrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (
     WITH RECURSIVE part AS (
         SELECT p.oid, p.relowner FROM pg_class p WHERE p.oid IN (k.conrelid, k.confrelid)
         UNION
         SELECT p.oid, p.relowner FROM part u JOIN pg_inherits i ON i.inhparent = u.oid JOIN pg_class p ON p.oid = i.inhrelid
     )
     SELECT count(DISTINCT relowner) AS owners FROM part
 ) AS parts
 WHERE k.contype = 'f' AND n.nspname = $1 AND parts.owners > 1
