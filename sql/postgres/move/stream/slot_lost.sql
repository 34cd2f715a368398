-- Whether a slot ($1) is lost for good; no row where there is none.
SELECT is_lost FROM slot WHERE name = $1 AND database = current_database()
