-- Expressions in a schema, made from the server's catalog: each operator that says yes or no of each type, and each
-- form of SQL over each type. What a type does not take is left out. Each is a CHECK and a column of a view; the
-- table's comment says how many there are.
CREATE TABLE @.value (id bigint PRIMARY KEY);
CREATE TABLE @.number (n integer PRIMARY KEY, of_table bigint REFERENCES @.value);

DO $do$
DECLARE
    one record;
    expression text;
    columns text[] := '{}';
    checks text[] := '{}';
    made integer := 0;
BEGIN
    CREATE TEMP TABLE literal (type regtype PRIMARY KEY, of_column text, text text);
    -- The first text that a type takes is its literal.
    FOR one IN SELECT t.oid::regtype AS type, 'c_' || t.typname AS name, w.word FROM pg_type t
        CROSS JOIN unnest(ARRAY['7', 'x', '{x}', '{7}', '2026-11-26', '10:00', '1 day', '101', '7.5', '(1,2)', '(1,2),(3,4)', '[(1,2),(3,4)]',
            '<(1,2),3>', '[1,5)', '{[1,5)}', '[2026-01-01,2026-02-01)', '{[2026-01-01,2026-02-01)}', '10.0.0.1', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05',
            '{"a": 1}', 'a & b', '123e4567-e89b-12d3-a456-426614174000', '{1,2,3}', '$.a', '(0,1)', '0/1', 'pg_class', '1:2:']) WITH ORDINALITY AS w (word, place)
        WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm') AND t.typname NOT LIKE 'pg\_%' AND t.typname NOT LIKE 'reg%'
        ORDER BY t.oid, w.place
    LOOP
        CONTINUE WHEN EXISTS (SELECT FROM literal l WHERE l.type = one.type);
        BEGIN
            EXECUTE format('SELECT %L::%s', one.word, one.type);
            EXECUTE format('ALTER TABLE @.value ADD COLUMN %I %s', one.name, one.type);
        EXCEPTION WHEN OTHERS THEN
            CONTINUE;
        END;
        INSERT INTO literal VALUES (one.type, one.name, one.word);
    END LOOP;

    FOR one IN
        SELECT format(f.form, l.of_column, l.text, l.type, o.oprname, r.of_column, r.text, r.type) AS text
        FROM pg_operator o JOIN literal l ON l.type = o.oprleft JOIN literal r ON r.type = o.oprright
        CROSS JOIN unnest(ARRAY['%1$I %4$s %6$L', '%1$I %4$s %5$I', '%2$L %4$s %5$I::%7$s']) AS f (form)
        WHERE o.oprresult = 'boolean'::regtype AND o.oprnamespace = 'pg_catalog'::regnamespace AND hashtext(o.oid::text || f.form) % 8 = 0
        UNION ALL
        SELECT format(f.form, l.of_column, l.text, l.type)
        FROM literal l
        CROSS JOIN unnest(ARRAY['%1$I IN (%2$L, %2$L, NULL)', '%1$I NOT IN (%2$L, %2$L)', '%1$I = ANY (ARRAY[%2$L, %2$L])', '%1$I <> ALL (ARRAY[%2$L, %2$L]::%3$s[])',
            '%1$I = ANY (%2$L)', '%1$I BETWEEN %2$L AND %2$L AND %1$I <> %2$L', '%1$I BETWEEN SYMMETRIC %2$L AND %2$L AND (id > 1 AND id < 9)',
            'CASE %1$I WHEN %2$L THEN true WHEN NULL THEN false END', 'CASE WHEN %1$I = %2$L THEN %1$I ELSE %2$L END IS NULL', 'coalesce(%1$I, %2$L) = %2$L',
            'nullif(%1$I, %2$L) IS NOT NULL', 'greatest(%1$I, %2$L) = least(%2$L, %1$I)', '%1$I IS DISTINCT FROM %2$L', 'ROW(%1$I, id) = ROW(%2$L, -1)',
            '(%1$I, id) IN ((%2$L, 1), (%2$L, -2))', '%1$I > -1 AND -%1$I < -1::%3$s', '%1$I + -1 <> - 7', '%1$I || %2$L <> %2$L', '%1$I LIKE %2$L', '%1$I SIMILAR TO %2$L ESCAPE ''!''',
            '%1$I::text IN (%2$L, ''y'')', '%1$I::varchar(5) IN (%2$L, ''y'')', '%1$I::varchar(5)[] = ARRAY[%2$L]::varchar(5)[]', 'length(%1$I) > -1', 'ARRAY[%1$I, %2$L] @> ARRAY[%2$L]::%3$s[]',
            'ARRAY[[%1$I], [%2$L]] <> %2$L', '(ARRAY[%1$I])[1] = %2$L', 'NOT (%1$I = %2$L AND NOT %1$I = %2$L)', '(%1$I IS NULL) = ANY (ARRAY[true, false])',
            'extract(epoch FROM %1$I) > -1.5', '%1$I + interval ''1-2'' year to month > %2$L', '(%1$I AT TIME ZONE ''UTC'') > %2$L', '(%1$I, %1$I) OVERLAPS (%2$L, %2$L)',
            '%1$I COLLATE "C" < %2$L', '%1$I IS JSON', '(%1$I).x IS NULL', '%1$I -> ''a'' ->> ''b'' IN (''c'', ''d'')', '%1$I['' a''] IS NULL', 'upper(%1$I) = %2$L']) AS f (form)
        WHERE hashtext(l.type::text || f.form) % 2 = 0
    LOOP
        expression := one.text;
        BEGIN
            EXECUTE format('SELECT FROM @.value WHERE %s', expression);
            made := made + 1;
        EXCEPTION WHEN OTHERS THEN
            CONTINUE;
        END;
        columns := columns || format('%s AS v_%s', expression, made);
        checks := checks || format('ADD CONSTRAINT check_%s CHECK (%s)', made, expression);
    END LOOP;
    EXECUTE format('ALTER TABLE @.value %s', array_to_string(checks, ', '));
    FOR part IN 0 .. made / 500 LOOP
        EXECUTE format('CREATE VIEW @.view_%s AS SELECT id, %s FROM @.value', part, array_to_string(columns[part * 500 + 1 : part * 500 + 500], ', '));
    END LOOP;
    DROP TABLE literal;
    EXECUTE format('COMMENT ON TABLE @.value IS %L', made);
END
$do$;

-- The places of expressions, each with forms that are printed otherwise once they were read again.
CREATE DOMAIN @.word AS varchar(9) DEFAULT 'x' CHECK (VALUE IN ('x', 'y'));
CREATE TABLE @.place (
    id bigint PRIMARY KEY,
    a varchar(10) DEFAULT 'x' CHECK (a IN ('x', 'y')),
    n integer DEFAULT -1::int CHECK (n BETWEEN -1::int AND 10 AND n <> -1::int),
    made boolean GENERATED ALWAYS AS (a IN ('x', 'y')) STORED,
    w @.word,
    EXCLUDE USING btree (n WITH =) WHERE (a IN ('x', 'y'))
);
CREATE INDEX ON @.place (n) WHERE a IN ('x', 'y');
CREATE INDEX ON @.place ((a IN ('x', 'y')), (n + -1::int));
CREATE STATISTICS @.more ON (a IN ('x', 'y')), n FROM @.place;
ALTER TABLE @.place ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON @.place USING (a IN ('x', 'y') AND EXISTS (SELECT NULL FROM @.value)) WITH CHECK (n = ANY (SELECT -1::int));
CREATE FUNCTION @.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER t BEFORE UPDATE ON @.place FOR EACH ROW WHEN (NEW.a IN ('x', 'y') AND OLD.n <> -1::int) EXECUTE FUNCTION @.nothing();
CREATE RULE r AS ON INSERT TO @.number WHERE NEW.n IN (SELECT -1::int) DO ALSO SELECT 'x' AS x WHERE EXISTS (SELECT 'x', NULL);
CREATE VIEW @.looks AS
    SELECT 'x' AS one, NULL AS two, (SELECT 'lit') AS three, EXISTS (SELECT NULL) AS four, 'x' IN (SELECT 'y') AS five, (SELECT -1::int) AS six, ARRAY(SELECT 'x') AS seven
    FROM (SELECT 'x', -1, NULL) AS s WHERE EXISTS (SELECT 'x' UNION SELECT 'y' EXCEPT VALUES ('z'))
    GROUP BY 1, 2 HAVING count(*) FILTER (WHERE 'x' IN ('x', 'y')) > -1 ORDER BY 1, (SELECT 'lit') LIMIT '5' OFFSET -1 + 2;
CREATE VIEW @.joined AS
    WITH w AS (SELECT 'x', a.n, -1::int FROM @.place a), v (q) AS (VALUES ('x'), (NULL))
    SELECT w.n, v.q, row_number() OVER (PARTITION BY w.n + -1 ORDER BY v.q ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    FROM w JOIN v ON w.n IN (-1, -2::int) AND v.q IN ('x', 'y') LEFT JOIN LATERAL (SELECT 'x', w.n) l ON true;
CREATE TABLE @.noted (n integer PRIMARY KEY, a varchar(9));
CREATE FUNCTION @.said(q varchar DEFAULT 'x', m integer DEFAULT -1::int) RETURNS boolean RETURN q IN ('x', 'y') AND m <> -1::int AND EXISTS (SELECT NULL);
CREATE PROCEDURE @.done(q varchar) LANGUAGE sql BEGIN ATOMIC
    DELETE FROM @.place WHERE a IN ('x', 'y') AND n IN (SELECT -1::int);
    UPDATE @.place SET a = 'x', n = -1::int WHERE a IN (q, 'y') RETURNING 'x';
    INSERT INTO @.noted VALUES (-1::int, 'x') ON CONFLICT (n) DO UPDATE SET n = -1::int WHERE EXCLUDED.a IN ('x', 'y') AND noted.n <> -1::int;
    SELECT 'x', NULL, (SELECT 'y');
END;
CREATE TABLE @.parts (id bigint, a varchar(10), n integer) PARTITION BY LIST ((a IN ('x', 'y')));
CREATE TABLE @.part_1 PARTITION OF @.parts (CHECK (a IN ('x', 'y')), PRIMARY KEY (id)) FOR VALUES IN (true);
CREATE TABLE @.ranges (id bigint, n integer) PARTITION BY RANGE ((n + -1::int));
CREATE TABLE @.range_1 PARTITION OF @.ranges (PRIMARY KEY (id)) FOR VALUES FROM (-1) TO (-1::int + 10);
