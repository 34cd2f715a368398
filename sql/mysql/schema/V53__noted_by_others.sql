-- What other servers of a ticket have handed out is noted behind the mark: a backup with the catalog that was put back
-- twice began at the same number twice, and nobody else knew.

ALTER TABLE shardid.server
    MODIFY mark MEDIUMTEXT COMMENT 'what the program last left here: a mark, and how far each ticket was on all of its servers';
