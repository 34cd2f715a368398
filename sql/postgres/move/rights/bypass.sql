-- Roles that row security does not hold for, quoted; but for superusers, who are above all of it.
SELECT quote_ident(rolname) FROM pg_roles WHERE rolbypassrls AND NOT rolsuper
