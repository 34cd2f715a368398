-- A command of the replication protocol that makes a slot ($1) and lets other sessions see what there is when it begins.
SELECT format('CREATE_REPLICATION_SLOT %I LOGICAL pgoutput (SNAPSHOT ''export'')', $1::text) AS command
