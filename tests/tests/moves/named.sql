SET search_path = public, OURS;
CREATE TABLE OURS.t (id bigint PRIMARY KEY, e citext UNIQUE CHECK (e <> 'no' AND e = ANY (ARRAY['Ann', 'bob', 'x']::citext[])), f citext);
INSERT INTO OURS.t VALUES (1, 'ann', 'X'), (2, 'BOB', 'x');
CREATE INDEX ON OURS.t ((CASE WHEN e = 'ANN' THEN 1 END));
CREATE FUNCTION OURS.is_ann(citext) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 = 'ANN';
CREATE VIEW OURS.answers AS
SELECT bool_or(e = 'ANN') AS named, bool_or(e IN ('ANN', 'y')) AS listed, bool_or(e LIKE 'AN%') AS liked,
       bool_or(CASE WHEN e = 'ANN' THEN true END) AS chosen, bool_or(is_ann(e)) AS called, count(DISTINCT f) AS apart,
       (SELECT count(*) FROM OURS.t u JOIN OURS.t v ON u.e = v.e) AS joined,
       (SELECT count(*) FROM (SELECT f FROM OURS.t GROUP BY f UNION SELECT 'X' ORDER BY f) AS g) AS grouped
  FROM OURS.t;
