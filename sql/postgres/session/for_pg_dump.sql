-- The same for a program that takes them from PGOPTIONS: nothing, where nothing was changed.
SELECT coalesce(string_agg(format('-c %s=%s', c.name, regexp_replace(c.boot_val, '([ \\])', '\\\1', 'g')), ' ' ORDER BY c.name), '')
  FROM changed c WHERE c.source = 'session' AND c.setting = c.boot_val
