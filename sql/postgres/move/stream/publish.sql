-- Publishes a schema ($2) under a name ($1), unless that is done: whatever else has the name is not taken for it.
SELECT format('CREATE PUBLICATION %I FOR TABLES IN SCHEMA %I', $1::text, $2::text) AS statement
 WHERE NOT EXISTS (SELECT FROM pg_publication p JOIN pg_roles o ON o.oid = p.pubowner AND o.rolsuper
                    WHERE p.pubname = $1 AND NOT p.puballtables AND NOT p.pubviaroot
                      AND p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate
                      AND ARRAY(SELECT n.nspname::text FROM pg_publication_namespace s JOIN pg_namespace n ON n.oid = s.pnnspid
                                 WHERE s.pnpubid = p.oid) = ARRAY[$2::text]
                      AND NOT EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = p.oid))
