-- Has the server end this session when nobody is there to read from it, also where it is at something that
-- does not end, as far as its system can notice.
DO $do$
BEGIN
    PERFORM pg_catalog.set_config('client_connection_check_interval', '5s', false);
EXCEPTION
    WHEN invalid_parameter_value OR undefined_object THEN
        NULL;
END
$do$
