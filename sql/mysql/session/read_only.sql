-- Looking changes nothing: the server enforces it.
START TRANSACTION READ ONLY
