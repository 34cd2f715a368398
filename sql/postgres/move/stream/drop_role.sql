-- Drops the role that was made for a stream ($1), where the subscription is gone without it. What
-- it may own goes to us; what is dropped are rights. One that another subscription or another
-- database uses stays.
SELECT format('REASSIGN OWNED BY %1$I TO CURRENT_USER; DROP OWNED BY %1$I; DROP ROLE %1$I', r.rolname) AS statement
  FROM pg_roles r
 WHERE r.rolname = $1 AND r.rolname ~ '^shardid_(move|back)_[0-9]+$'
   AND NOT EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid)
   AND NOT EXISTS (SELECT FROM pg_shdepend d JOIN pg_database b ON b.oid = d.dbid
                    WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid AND b.datname <> current_database())
