//! Definitions and rows are carried and compared to the letter.

use shardid_tests::estate::{Estate, schema};

use crate::shared;

/// What a schema says of itself, to the byte.
fn texts(estate: &Estate, node: &str, schema: &str, database: &str) -> String {
    estate.node(node).psql(
        database,
        &format!(
            "SELECT proname, md5(prosrc), length(prosrc) FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace ORDER BY 1;
             SELECT md5(pg_get_viewdef(oid)) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'v';
             SELECT md5(pg_get_expr(adbin, adrelid)) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
              WHERE relnamespace = '{schema}'::regnamespace ORDER BY 1"
        ),
    )
}

/// Carriage returns were lost in all definitions, and lines that look like what pg_restore says first.
#[test]
fn definitions_keep_their_bytes_and_a_column_may_have_any_name() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    let body = "\r\n-- of Windows\r\nSET transaction_timeout = 5;\n\\restrict x\n\\unrestrict x\nSET lock_timeout = 5;\n";
    estate.psql(
        "pg1",
        &format!(
            "SET check_function_bodies = off;
             CREATE FUNCTION {schema}.odd() RETURNS void LANGUAGE sql AS $${body}$$;
             CREATE TABLE {schema}.lines (id int PRIMARY KEY, line text DEFAULT E'a\\r\\nb', t int);
             CREATE VIEW {schema}.windows AS SELECT * FROM {schema}.lines WHERE line = 'a\r\nb';
             INSERT INTO {schema}.lines SELECT g, DEFAULT, 7 FROM generate_series(1, 100) g"
        )
        .replace("g, DEFAULT, 7", "g, E'a\\r\\nb', 7"),
    );
    let before = texts(estate, "pg1", &schema, "app");
    let held = estate.run_held(
        "following/before-Compare",
        &["move", &number, "--to", "pg2", "--verify", "full", "--yes"],
    );
    // Nothing but what another column than t has.
    estate.psql(
        "pg2",
        &shared::past_the_guard(&format!("UPDATE {schema}.lines SET line = 'other' WHERE id = 7")),
    );
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    let words = format!("the new copy of table {schema}.lines differs: 100 rows on pg1");
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    estate.run(&["move", &number, "--to", "pg2", "--verify", "full", "--yes"]).ok();
    assert_eq!(texts(estate, "pg2", &schema, "app"), before);
    assert_eq!(estate.psql("pg2", &format!("SELECT count(*) FROM {schema}.windows")), "100");
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// What the operator's role gives to others on all that it makes on the target was given on the copy
/// as well, or not: the move stopped when all was copied.
#[test]
fn default_privileges_of_the_target_are_not_those_of_the_shard() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    estate.psql(
        "pg1",
        &format!(
            "CREATE FUNCTION {schema}.f() RETURNS int LANGUAGE sql RETURN 1; CREATE TYPE {schema}.mood AS ENUM ('a'); \
             CREATE ROLE app; GRANT SELECT ON {schema}.item TO app; CREATE TABLE {schema}.closed (id int PRIMARY KEY)"
        ),
    );
    estate.psql("pg2", "CREATE ROLE app; CREATE ROLE \"A b\"");
    for change in [
        "GRANT ALL ON TABLES TO \"A b\" WITH GRANT OPTION",
        "GRANT SELECT ON TABLES TO app",
        "GRANT USAGE ON SEQUENCES TO PUBLIC",
        "REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC",
        "REVOKE USAGE ON TYPES FROM PUBLIC",
        "GRANT USAGE ON SCHEMAS TO app",
        "REVOKE DELETE ON TABLES FROM postgres",
    ] {
        estate.psql("pg2", &format!("ALTER DEFAULT PRIVILEGES {change}"));
    }
    // By names, as numbers of roles differ.
    let exploded = "ARRAY(SELECT x.privilege_type || x.grantee::regrole || x.is_grantable FROM aclexplode(acl) x ORDER BY 1)";
    let acls = format!(
        "SELECT name, {exploded} FROM ( \
             SELECT relname AS name, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\", relowner)) AS acl \
                 FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'S') \
             UNION ALL SELECT proname, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace \
             UNION ALL SELECT typname, coalesce(typacl, acldefault('T', typowner)) FROM pg_type WHERE typnamespace = '{schema}'::regnamespace AND typcategory <> 'A' \
             UNION ALL SELECT nspname, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace WHERE nspname = '{schema}') AS all_acls ORDER BY 1, 2"
    );
    let rights = estate.psql("pg1", &acls);
    let usual = "SELECT defaclobjtype, array(SELECT x::text FROM unnest(defaclacl) x ORDER BY 1) FROM pg_default_acl ORDER BY 1";
    let before = estate.psql("pg2", usual);
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    assert_eq!(estate.psql("pg2", usual), before);
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(estate.psql("pg2", &acls), rights);
}

/// An ellipsis in our queries had no place in it, and what pg_dump printed was read as UTF-8.
#[test]
fn a_database_in_another_encoding_is_moved() {
    let estate = Estate::start(2, 4);
    for node in ["pg1", "pg2"] {
        estate.node(node).psql(
            "postgres",
            "CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
        );
    }
    estate.declare(4, |_, url| url.replace("/app", "/latin"));
    estate.run(&["apply", "--yes"]).ok();
    let schema = schema(0);
    let (from, to) = (estate.node("pg1"), estate.node("pg2"));
    from.psql(
        "latin",
        &format!(
            "SET client_encoding = 'UTF8';
             CREATE TABLE {schema}.\"größe\" (id bigint PRIMARY KEY DEFAULT next_id(0), \"straße\" text DEFAULT 'Ä');
             CREATE FUNCTION {schema}.f() RETURNS text LANGUAGE sql RETURN 'é';
             CREATE VIEW {schema}.v AS SELECT * FROM {schema}.\"größe\" WHERE \"straße\" = 'Ä';
             COMMENT ON VIEW {schema}.v IS 'ñ';
             INSERT INTO {schema}.\"größe\" SELECT FROM generate_series(1, 100)"
        ),
    );
    let before = texts(&estate, "pg1", &schema, "latin");
    estate.run(&["move", "0", "--to", "pg2", "--verify", "full", "--yes"]).ok();
    assert_eq!(texts(&estate, "pg2", &schema, "latin"), before);
    let count = format!(
        "SET client_encoding = 'UTF8'; SELECT count(*), min(\"straße\"), obj_description('{schema}.v'::regclass) FROM {schema}.v"
    );
    assert_eq!(to.psql("latin", &count), "100|Ä|ñ");
    estate.run(&["rollback", "1", "--yes"]).ok();
    assert_eq!(from.psql("latin", &count), "100|Ä|ñ");
}

/// Everything that any session may set and that is one of a few words, the other way round for a whole database. Which of
/// it changes what comes with a move is left to the server: by client_encoding texts were copied wrong.
#[test]
fn no_setting_of_a_database_changes_what_is_copied() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.psql(
        "pg1",
        &format!(
            "SET client_encoding = 'UTF8';
             CREATE TYPE {schema}.mood AS ENUM ('größer', 'b');
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY DEFAULT {schema}.next_id(), t text, a text[], x xml, m {schema}.mood,
                 d date, i interval, w timestamptz, b bytea, f float8, n numeric, j jsonb, o int, s text GENERATED ALWAYS AS (t || 'é') STORED);
             INSERT INTO {schema}.t (t, a, x, m, d, i, w, b, f, n, j)
                 SELECT 'Zürich ' || g || E'\\n\\\\x', ARRAY['a', NULL, 'NULL'], '<a/>text', 'größer', '2024-02-01', '-1 day +02:03:00.5',
                        '2024-02-01 10:00+02', '\\x00ff', g / 3.0::float8, g / 3.0, '{{\"ä\": 1}}' FROM generate_series(1, 500) g"
        ),
    );
    // Nothing that is shown by the session's own settings but what is said here.
    let rows = format!(
        "SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'; SET bytea_output = 'hex'; SET extra_float_digits = 3;
         SELECT count(*), md5(string_agg(concat_ws('|', id, convert_to(t, 'UTF8'), array_to_string(a, ',', '(null)'), x, convert_to(m::text, 'UTF8'),
             d, i, w, b, f, n, convert_to(j::text, 'UTF8'), convert_to(s, 'UTF8')), ',' ORDER BY id)) FROM {schema}.t"
    );
    let before = estate.psql("pg1", &rows);
    // All but what is of a transaction alone, and of what is written to the log.
    let others = "SELECT format('ALTER DATABASE app SET %I = %L', name, CASE vartype WHEN 'bool' THEN CASE boot_val WHEN 'on' THEN 'off' ELSE 'on' END
                     ELSE (SELECT v FROM unnest(enumvals) v WHERE v <> boot_val ORDER BY v LIMIT 1) END)
          FROM pg_settings WHERE context = 'user' AND vartype IN ('bool', 'enum') AND category !~ '^(Developer|Reporting)' AND name NOT LIKE 'transaction\\_%'
        -- In a parallel worker no setting looks changed.
        UNION ALL SELECT format('ALTER DATABASE app SET %I = on', name) FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')
        UNION ALL VALUES ('ALTER DATABASE app SET client_encoding = ''LATIN1'''), ('ALTER DATABASE app SET datestyle = ''SQL, DMY'''),
            ('ALTER DATABASE app SET timezone = ''Asia/Kolkata'''), ('ALTER DATABASE app SET extra_float_digits = -5')";
    let set = estate.psql("pg2", &format!("{others} \\gexec"));
    assert_eq!(set, "", "{set}");
    let moving = ["move", &number, "--to", "pg2", "--yes", "--verify", "none"];
    estate.run(&moving).ok();
    let run = estate.run(&["verify", "--data"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    // Of settings that stay behind the program's own are not told.
    let back = (0..4).find(|other| *other != shard && estate.home(*other) == "pg2");
    let next =
        estate.run(&["move", &back.expect("it has some").to_string(), "--to", "pg1", "--dry-run"]);
    assert!(
        next.stderr.contains("settings of database app (")
            && !next.stderr.contains("settings of role shardid"),
        "{}",
        next.stderr
    );
    let reset = "ALTER DATABASE app RESET ALL; ALTER ROLE postgres IN DATABASE app RESET ALL";
    estate.node("pg2").psql("postgres", reset);
    assert_eq!(estate.psql("pg2", &rows), before);
    estate.psql("pg1", &format!("{others} \\gexec"));
    estate.psql("pg2", &format!("UPDATE {schema}.t SET o = 1"));
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    estate.node("pg1").psql("postgres", reset);
    assert_eq!(estate.psql("pg1", &rows), before);
}

/// Categories of settings and descriptions of objects are told in the server's language: no shard could be moved.
#[test]
fn a_server_may_speak_another_language() {
    let estate = Estate::start_with(2, 4, |_, builder| builder.conf("lc_messages = 'C.UTF-8'"));
    let category = "SELECT category FROM pg_settings WHERE name = 'max_stack_depth'";
    if estate.psql("pg1", category).starts_with("Resource Usage") {
        println!("PostgreSQL's German words are not installed here: nothing to look at");
        return;
    }
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let found = estate.run(&["verify", "--data"]);
    assert_eq!(found.code, 0, "{}{}", found.stdout, found.stderr);
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}
