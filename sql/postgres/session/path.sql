-- Nothing that others may own is found by an unqualified name.
SET search_path = pg_catalog, pg_temp
