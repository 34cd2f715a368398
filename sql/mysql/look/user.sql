-- Who this is to the server, as a GRANT takes it.
SELECT CAST(concat(quote(left(u.me, char_length(u.me) - char_length(substring_index(u.me, '@', -1)) - 1)), '@',
                   quote(substring_index(u.me, '@', -1))) AS CHAR) AS user
FROM (SELECT current_user() AS me) u
