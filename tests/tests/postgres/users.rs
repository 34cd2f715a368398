//! What uses a shard or a ticket is seen before it is dropped, however that is written.
//!
//! It was looked for in texts: `next_id(24+0)`, `'22'::int2` and a domain's default were
//! overlooked, and all of them with `quote_all_identifiers = on`. Inserts failed afterwards.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, expect_error};

use crate::ask::run;

/// What must be refused: statements that make it, and what the detail names. `@` is the shard.
const USERS: &[(&str, &str)] = &[
    ("CREATE TABLE t (id bigint DEFAULT next_id(@))", "Columns: public.t.id."),
    ("CREATE TABLE t (id bigint DEFAULT next_id('@'))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(@::smallint))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id('@'::int2))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(shard => @))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(@ + 0))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(- - @))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(@::numeric::bigint))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id('@'::text::bigint))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT shardid.next_id(@))", "t.id"),
    ("CREATE TABLE t (id text DEFAULT id_text(abs(next_id(@))))", "t.id"),
    // Whatever the expression is made of, as long as it is constant.
    ("CREATE TABLE t (id bigint DEFAULT next_id(greatest(@, 1)))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(least('@'::numeric, 7.5)::int))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(coalesce(NULL, @)))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id((ARRAY[@, 7])[1]))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(('{{1,@}}'::int[])[1][2]))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id((ARRAY['@']::int[])[1]))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN true THEN @ END))", "t.id"),
    // Beside what is not.
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE BEGIN ATOMIC SELECT next_id((SELECT 7)) + next_id(@); END; CREATE TABLE t (id bigint DEFAULT f())",
        "t.id",
    ),
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE BEGIN ATOMIC SELECT next_id(max(n)) + next_id(@) FROM generate_series(1, 9) n; END; CREATE TABLE t (id bigint DEFAULT f())",
        "t.id",
    ),
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE BEGIN ATOMIC SELECT next_id(n) + next_id(row_number() OVER ()) + next_id(GROUPING(n)) + next_id(@) FROM generate_series(1, 9) n GROUP BY n; END; CREATE TABLE t (id bigint DEFAULT f())",
        "t.id",
    ),
    (
        "CREATE FUNCTION f(n bigint) RETURNS bigint VOLATILE RETURN next_id(n) + next_id(@); CREATE TABLE t (id bigint DEFAULT f(7))",
        "t.id",
    ),
    ("CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN 2 > 1 THEN @ ELSE 1 / 0 END))", "t.id"),
    (
        "CREATE TABLE t (id bigint DEFAULT next_id(CASE 'b' WHEN 'a' THEN 1 WHEN 'b' THEN @ END))",
        "t.id",
    ),
    ("CREATE TABLE t (id bigint DEFAULT next_id(nullif(@, 7)))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id((2.5 * 2)::int))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(round(4.9)::int))", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(length('xxxxx')))", "t.id"),
    (
        "CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN 1 = ANY (ARRAY[1, 2]) AND length('xx') > 1 THEN @ END))",
        "t.id",
    ),
    (
        "CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN NULL IS NULL AND (1 = 2) IS NOT TRUE AND 1 IS DISTINCT FROM 2 THEN @ END))",
        "t.id",
    ),
    (
        "CREATE TABLE t (n int, id bigint DEFAULT CASE WHEN random() < 2 THEN next_id(@) ELSE 1 END)",
        "t.id",
    ),
    (
        "CREATE TABLE t (a bigint DEFAULT next_id(1), b bigint DEFAULT next_id(@), \"C d\" bigint DEFAULT next_id(@))",
        "Columns: public.t.\"C d\", public.t.b.",
    ),
    ("CREATE TABLE t (id bigint DEFAULT shard_0005.next_id())", "t.id"),
    ("CREATE TABLE t (id bigint DEFAULT nextval('shard_0005.shard_id_seq'))", "t.id"),
    ("CREATE DOMAIN pid AS bigint DEFAULT next_id(@)", "pid"),
    ("CREATE DOMAIN pid AS bigint DEFAULT shard_0005.next_id()", "pid"),
    ("CREATE TABLE t (id bigint CHECK (id < next_id(@)))", "constraint t_id_check"),
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE RETURN next_id(@); CREATE TABLE t (id bigint DEFAULT f())",
        "t.id",
    ),
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE BEGIN ATOMIC SELECT max(n) FROM next_ids(@, 3) n; END; CREATE TABLE t (id bigint DEFAULT f())",
        "t.id",
    ),
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE RETURN next_id(@); CREATE FUNCTION g() RETURNS bigint VOLATILE RETURN 1 + f(); CREATE DOMAIN pid AS bigint DEFAULT g()",
        "pid",
    ),
    (
        "CREATE VIEW v AS SELECT next_id(@) AS id; CREATE FUNCTION f() RETURNS bigint VOLATILE BEGIN ATOMIC SELECT id FROM v; END; CREATE TABLE t (id bigint DEFAULT f())",
        "t.id",
    ),
    // Said to be immutable, so that it may stand where only such may.
    (
        "CREATE FUNCTION f() RETURNS bigint IMMUTABLE RETURN next_id(@); CREATE TABLE t (n int, id bigint GENERATED ALWAYS AS (f() + n) STORED)",
        "t.id",
    ),
    (
        "CREATE FUNCTION f(n bigint) RETURNS bigint IMMUTABLE RETURN next_id(@) + n; CREATE TABLE t (n bigint); CREATE INDEX by_id ON t (f(n))",
        "by_id",
    ),
    (
        "CREATE FUNCTION f(n bigint) RETURNS bigint IMMUTABLE RETURN next_id(@) + n; CREATE TABLE t (n bigint) PARTITION BY RANGE (f(n))",
        "table public.t",
    ),
    (
        "CREATE TABLE t (n bigint); CREATE RULE r AS ON INSERT TO t DO ALSO SELECT next_id(@)",
        "rule r",
    ),
    (
        "CREATE TABLE t (n bigint); CREATE POLICY p ON t FOR INSERT WITH CHECK (n < next_id(@))",
        "policy p",
    ),
    // What PostgreSQL itself keeps its sequence for, in words that say what to do.
    ("CREATE VIEW v AS SELECT shard_0005.next_id()", "view public.v"),
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE RETURN shard_0005.next_id()",
        "function public.f()",
    ),
    ("ALTER FUNCTION shard_0005.next_id() RENAME TO another", "function shard_0005.another()"),
    // It is the only shard there is.
    ("CREATE TABLE t (id bigint DEFAULT next_id())", "t.id"),
];

/// What is only warned of, and what the warning names.
const PERHAPS: &[(&str, &str)] = &[
    // What only calls it, as functions in quotes do, which nobody can see.
    ("CREATE VIEW v AS SELECT next_id(@)", "view public.v"),
    ("CREATE FUNCTION f() RETURNS bigint VOLATILE RETURN next_id(@)", "function public.f()"),
    // What nobody can compute keeps nobody from dropping another shard.
    ("CREATE TABLE t (id bigint DEFAULT next_id(1 / 0))", "public.t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id('five'::text::int))", "public.t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(2147483647 + 1))", "public.t.id"),
    // What computes it: a function of somebody's must not be run to know.
    (
        "CREATE TABLE t (n int, id bigint DEFAULT next_id(current_setting('my.shard')::int))",
        "public.t.id",
    ),
    (
        "CREATE FUNCTION s() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'ran'; END$$; CREATE TABLE t (id bigint DEFAULT next_id(s()))",
        "public.t.id",
    ),
    (
        "CREATE FUNCTION f(s int) RETURNS bigint VOLATILE RETURN next_id(s); CREATE TABLE t (id bigint DEFAULT f(@))",
        "public.t.id",
    ),
    (
        "CREATE FUNCTION s(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'ran'; END$$; CREATE OPERATOR @@@ (RIGHTARG = int, FUNCTION = s); CREATE TABLE t (id bigint DEFAULT next_id(@@@ 5))",
        "public.t.id",
    ),
    (
        "CREATE OPERATOR ### (RIGHTARG = bigint, FUNCTION = next_id); CREATE TABLE t (id bigint DEFAULT ### 5::bigint)",
        "public.t.id",
    ),
    // Nor what somebody has put behind a type: a check of a domain, a cast, an order.
    (
        "WARN CREATE DOMAIN d AS int CHECK (w(VALUE) > 0); CREATE TABLE t (id bigint DEFAULT next_id('@'::d))",
        "public.t.id",
    ),
    (
        "WARN CREATE DOMAIN d AS int CHECK (w(VALUE) > 0); CREATE TABLE t (id bigint DEFAULT next_id(greatest('@'::d, 1)))",
        "public.t.id",
    ),
    (
        "WARN CREATE DOMAIN d AS int CHECK (w(VALUE) > 0); CREATE TABLE t (id bigint DEFAULT next_id((ARRAY[@]::d[])[1]))",
        "public.t.id",
    ),
    (
        "WARN CREATE DOMAIN d AS int CHECK (w(VALUE) > 0); CREATE TABLE t (id bigint DEFAULT next_id(('{5}'::text::d[])[1]))",
        "public.t.id",
    ),
    (
        "WARN CREATE TYPE y AS (a int); CREATE FUNCTION i(y) RETURNS int IMMUTABLE RETURN w(($1).a); CREATE CAST (y AS int) WITH FUNCTION i(y); \
         CREATE TABLE t (id bigint DEFAULT next_id(ROW(@)::y::int))",
        "public.t.id",
    ),
    (
        "WARN CREATE OPERATOR @@@ (LEFTARG = int, RIGHTARG = int, FUNCTION = l); CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN @ @@@ 7 THEN @ END))",
        "public.t.id",
    ),
    (
        "WARN CREATE TYPE y AS (a int); CREATE FUNCTION c(y, y) RETURNS int IMMUTABLE RETURN w(($1).a - ($2).a); \
         CREATE OPERATOR CLASS by_a DEFAULT FOR TYPE y USING btree AS FUNCTION 1 c(y, y); \
         CREATE TABLE t (id bigint DEFAULT next_id((greatest(ROW(1)::y, ROW(@)::y)).a))",
        "public.t.id",
    ),
    // It reads rows.
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE BEGIN ATOMIC SELECT next_id((SELECT @)); END; CREATE TABLE t (id bigint DEFAULT f())",
        "public.t.id",
    ),
    (
        "CREATE FUNCTION f() RETURNS bigint VOLATILE BEGIN ATOMIC SELECT next_id(max(n ORDER BY n)) FROM generate_series(1, @) n; END; CREATE TABLE t (id bigint DEFAULT f())",
        "public.t.id",
    ),
    // It fails, and so would an insert.
    ("CREATE TABLE t (id bigint DEFAULT next_id(@ / 0))", "public.t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id((ARRAY[@, 1 / 0])[1]))", "public.t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(length(repeat('x', 1000000000))))", "public.t.id"),
    // It may take long, and then nobody can interrupt it.
    (
        "CREATE TABLE t (id bigint DEFAULT next_id(length((9.999999999 ^ 99999)::text)))",
        "public.t.id",
    ),
    (
        "CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN (3 ^ 9.5) > 1 THEN @ END))",
        "public.t.id",
    ),
    ("CREATE TABLE t (id bigint DEFAULT next_id(length('LONG')))", "public.t.id"),
    ("CREATE TABLE t (id bigint DEFAULT next_id(@MANY))", "public.t.id"),
];

/// What says nothing of this shard.
const OTHERS: &[&str] = &[
    "CREATE TABLE t (id bigint DEFAULT next_id(55))",
    "CREATE TABLE t (id bigint DEFAULT next_id(@ + 1))",
    "CREATE TABLE t (id bigint DEFAULT next_id(NULL))",
    "CREATE TABLE t (id bigint DEFAULT next_id(greatest(@, 6)))",
    "CREATE TABLE t (id bigint DEFAULT next_id(coalesce(6, @)))",
    "CREATE TABLE t (id bigint DEFAULT next_id((ARRAY[@, 7])[2]))",
    "CREATE TABLE t (id bigint DEFAULT next_id((ARRAY[@, 7])[3]))",
    "CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN false THEN @ ELSE 6 END))",
    "CREATE TABLE t (id bigint DEFAULT next_id(CASE WHEN false THEN @ END))",
    // There is another one.
    "CREATE TABLE t (id bigint DEFAULT next_id())",
    "CREATE FUNCTION f() RETURNS bigint VOLATILE RETURN next_id(55); CREATE TABLE t (id bigint DEFAULT f(), b text DEFAULT '@')",
    "CREATE FUNCTION f(s int) RETURNS bigint VOLATILE RETURN next_id(s); CREATE VIEW v AS SELECT f(@)",
];

/// Functions of somebody's that say when they are run, whatever is caught.
const WARN: &str = "CREATE FUNCTION w(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'it ran'; RETURN n; END$$; \
     CREATE FUNCTION l(a int, b int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'it ran'; RETURN a < b; END$$;";

/// The settings that change how expressions are shown and texts are read.
const SETTINGS: [&str; 2] = [
    "",
    "SET quote_all_identifiers = on; SET standard_conforming_strings = off; SET escape_string_warning = off;",
];

fn with_shard(others: bool) -> (Database<'static>, Client) {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_shard(5)");
    if others {
        run(&mut client, "SELECT create_shard(1)");
    }
    (database, client)
}

/// Without the quotes that one of the settings puts around every name.
fn unquoted(text: &str) -> String {
    text.replace('"', "")
}

#[test]
fn a_shard_that_inserts_need_is_not_dropped() {
    for settings in SETTINGS {
        let (_database, mut client) = with_shard(false);
        run(&mut client, settings);
        for (makes, named) in USERS {
            let makes = makes.replace('@', "5");
            let sql = format!("BEGIN; {makes}; SELECT drop_shard(5)");
            let refusal = expect_error(&mut client, &sql, "2BP01");
            assert!(refusal.message.contains("shard 5 cannot be dropped"), "{sql}: {refusal:?}");
            assert!(unquoted(&refusal.detail).contains(&unquoted(named)), "{sql}: {refusal:?}");
            assert!(!refusal.hint.is_empty() && !refusal.hint.contains("CASCADE"), "{refusal:?}");
            run(&mut client, "ROLLBACK");
        }
    }
}

/// What psql says of statements that must work: warnings.
fn said(database: &Database<'_>, sql: &str) -> String {
    let output = database
        .command("psql")
        .args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", sql])
        .output()
        .expect("psql runs");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{sql}: {words}");
    words
}

#[test]
fn what_may_use_a_shard_is_named_and_does_not_keep_it() {
    let (database, _client) = with_shard(true);
    for settings in SETTINGS {
        for (makes, named) in PERHAPS {
            let makes = makes.replace("@@@", "@-@").replace('@', "5").replace("5-5", "@-@");
            let makes = makes.replace("WARN", WARN);
            let makes = makes.replace("LONG", &"x".repeat(300)).replace("MANY", &" + 0".repeat(60));
            let words = said(
                &database,
                &format!("BEGIN; {settings} {makes}; SELECT drop_shard(5); ROLLBACK"),
            );
            assert!(words.contains("WARNING:  shard 5 may still be used"), "{makes}: {words}");
            assert!(!words.contains("it ran"), "{makes}: {words}");
            assert!(unquoted(&words).contains(named), "{makes}: {words}");
        }
        for makes in OTHERS {
            let makes = makes.replace('@', "5");
            let words = said(
                &database,
                &format!("BEGIN; {settings} {makes}; SELECT drop_shard(5); ROLLBACK"),
            );
            assert_eq!(words, "", "{makes}");
        }
    }
}

#[test]
fn a_ticket_that_inserts_need_is_not_dropped() {
    for settings in SETTINGS {
        let database = Database::fresh();
        let mut client = database.connect();
        for name in ["photos", "a\\b", "it's", "\"x\"", "ä b"] {
            run(&mut client, "SET standard_conforming_strings = on");
            let literal = format!("'{}'", name.replace('\'', "''"));
            run(
                &mut client,
                &format!("SELECT create_ticket({literal}), create_ticket({literal} || 's')"),
            );
            for (number, default) in [
                "next_ticket(@)",
                "next_ticket_gapless(@)",
                "next_ticket(name => @)",
                "next_ticket(@::varchar)",
                "next_ticket(@ || ''::text)",
                "2 * next_ticket(@)",
            ]
            .iter()
            .enumerate()
            {
                run(
                    &mut client,
                    &format!(
                        "CREATE TABLE t{number} (id bigint DEFAULT {})",
                        default.replace('@', &literal)
                    ),
                );
                client.batch_execute(settings).expect("settings are there");
                let refusal = client
                    .query("SELECT drop_ticket($1)", &[&name])
                    .expect_err(&format!("{default} of {name} was overlooked"));
                let refusal = shardid_tests::Refusal::of(&refusal).expect("of the server");
                assert_eq!(refusal.sqlstate, "2BP01", "{default}: {refusal:?}");
                assert!(refusal.message.contains(&format!("ticket \"{name}\"")), "{refusal:?}");
                assert!(
                    unquoted(&refusal.detail).contains(&format!("t{number}.id")),
                    "{refusal:?}"
                );
                run(
                    &mut client,
                    &format!("SET standard_conforming_strings = on; DROP TABLE t{number}"),
                );
            }
            // The default of another ticket is none of its business.
            run(
                &mut client,
                &format!("CREATE TABLE t (id bigint DEFAULT next_ticket({literal} || 's'))"),
            );
            client.query("SELECT drop_ticket($1)", &[&name]).expect("nothing uses it");
            run(&mut client, "DROP TABLE t");
        }
    }
}
