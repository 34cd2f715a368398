-- Names outside pg_catalog are written out, here as in what pg_dump prints.
SELECT set_config('search_path', 'pg_catalog', false)
