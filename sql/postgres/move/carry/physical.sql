-- Columns of catalogs that say how something is stored, and what is taken in their place, if anything. One that is missing here makes
-- a move stop after a VACUUM or an ANALYZE, and loses nothing. What uses it comes after this.
WITH physical (catalog, col, says) AS (VALUES
    -- Where rows lie and how many there are: changed by TRUNCATE, REINDEX, VACUUM and ANALYZE.
    ('pg_class', 'relfilenode', NULL),
    ('pg_class', 'relpages', NULL),
    ('pg_class', 'reltuples', NULL),
    ('pg_class', 'relallvisible', NULL),
    ('pg_class', 'relallfrozen', NULL),
    ('pg_class', 'relfrozenxid', NULL),
    ('pg_class', 'relminmxid', NULL),
    -- Set with the first and taken back by some later VACUUM; the catalogs meant say it themselves.
    ('pg_class', 'relhasindex', NULL),
    ('pg_class', 'relhasrules', NULL),
    ('pg_class', 'relhastriggers', NULL),
    ('pg_class', 'relhassubclass', NULL),
    -- VACUUM FULL makes another one; what is set for it stands there alone.
    ('pg_class', 'reltoastrelid', '(SELECT x.reloptions FROM pg_class x WHERE x.oid = t.reltoastrelid)'),
    ('pg_index', 'indcheckxmin', NULL),
    -- VACUUM FULL writes the value into each row.
    ('pg_attribute', 'atthasmissing', NULL),
    ('pg_attribute', 'attmissingval', NULL)
)
