//! What is refused is refused before anything is changed, by the right SQLSTATE,
//! with the object and the value named, and with the command that helps.
//!
//! The tables read: SQLSTATE | statement | words of the message | words of the hint.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Server, expect_error};

use crate::ask::{ids, one, run, with_shard_5};

/// All that could have been changed by a refused statement, as text.
fn state(client: &mut Client) -> String {
    one(
        client,
        "SELECT concat_ws(E'\\n', \
             (SELECT string_agg(s::text, ' ' ORDER BY s.shard) FROM shardid.shard s), \
             (SELECT string_agg(l::text, ' ' ORDER BY l.name) FROM shardid.layout l), \
             (SELECT string_agg(s::text, ' ' ORDER BY s::text) FROM shardid.id_sequence s), \
             (SELECT string_agg(c::text, ' ') FROM shardid.cluster c), \
             (SELECT string_agg(t::text, ' ' ORDER BY t.name) FROM shardid.ticket t), \
             (SELECT string_agg(s::text, ' ' ORDER BY s.tag) FROM shardid.segment s), \
             (SELECT string_agg(s::text, ' ' ORDER BY s.schemaname, s.sequencename) FROM pg_sequences s), \
             (SELECT string_agg(d::text, ' ' ORDER BY d.oid) FROM pg_attrdef d), \
             (SELECT string_agg(format('%s %s', p.oid, p.xmin), ' ' ORDER BY p.oid) FROM pg_proc p WHERE p.oid >= 16384), \
             (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_namespace))",
    )
}

/// Runs each statement of a table, and asserts that it says what it should and
/// changes nothing.
#[track_caller]
pub(crate) fn refuses(client: &mut Client, table: &str) {
    let before = state(client);
    for line in
        table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"))
    {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [sqlstate, sql, message, hint] = cells[..] else {
            panic!("four cells, not {line}");
        };
        let refusal = expect_error(client, sql, sqlstate);
        for words in message.split(" + ") {
            assert!(refusal.message.contains(words), "{sql}: no {words:?} in {refusal:?}");
        }
        assert!(refusal.hint.contains(hint), "{sql}: no {hint:?} in {refusal:?}");
        assert!(!refusal.message.ends_with('.'), "{sql}: {refusal:?}");
        // But where PostgreSQL itself refuses: a sequence at its end, a table that is not there or
        // somebody else's, partitions that overlap.
        let is_its_own = ["2200H", "42P01", "42P17"].contains(&sqlstate)
            || refusal.message.contains("valid range for parameter")
            || refusal.message.starts_with("must be owner of table");
        assert!(!refusal.hint.is_empty() || is_its_own, "{sql}: {refusal:?}");
        assert_eq!(state(client), before, "{sql} changed something");
    }
}

#[test]
fn a_shard_that_cannot_be_made_or_dropped() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(6); SELECT create_id_sequence('t_id', 6); \
         CREATE TABLE t (a bigint DEFAULT next_id(5)); CREATE SCHEMA app; \
         CREATE FUNCTION app.next_id() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'; \
         CREATE SCHEMA taken; CREATE TABLE taken.shard_id_seq (id int); \
         CREATE SCHEMA similar_; CREATE SEQUENCE similar_.shard_id_seq INCREMENT 8388608",
    );
    refuses(
        &mut client,
        r#"
        22003 | SELECT create_shard(8192)                       | shard 8192 + "instagram" | FROM shardid.layouts
        22003 | SELECT create_shard(-1)                         | shard -1 + "instagram"   | FROM shardid.layouts
        22003 | SELECT create_shard(NULL)                       | shard null               | FROM shardid.layouts
        22003 | SELECT create_shard(256, layout => 'js53')      | shard 256 + "js53"       | FROM shardid.layouts
        42704 | SELECT create_shard(7, layout => 'nope')        | layout "nope"            | create_layout()
        42704 | SELECT create_shard(7, layout => NULL)          | layout                   | create_layout()
        42710 | SELECT create_shard(5)                          | shard 5 exists           | FROM shardid.shards
        42710 | SELECT create_shard(5, 'elsewhere')             | shard 5 exists           | FROM shardid.shards
        42710 | SELECT create_shard(5, layout => 'js53')        | shard 5 exists           | FROM shardid.shards
        -- the extension's own next_id(), a user's, another shard's; relations of the sequence's name
        42723 | SELECT create_shard(7, 'public')                | "public" + next_id()     | create_shard(7, 
        42723 | SELECT create_shard(7, 'app')                   | "app" + next_id()        | SELECT create_shard(7, 'another schema')
        42723 | SELECT create_shard(7, 'shard_0006')            | "shard_0006" + next_id() | create_shard(7, 
        42P07 | SELECT create_shard(7, 'taken')                 | taken.shard_id_seq + 7   | RENAME
        42P07 | SELECT create_shard(7, 'similar_')              | similar_.shard_id_seq + 7 | RENAME
        42939 | SELECT create_shard(7, 'pg_seven')              | "pg_seven"               |
        42704 | SELECT drop_shard(7)                            | shard 7                  | FROM shardid.shards
        42704 | SELECT drop_shard(NULL)                         | shard null               | FROM shardid.shards
        2BP01 | SELECT drop_shard(5)                            | shard 5 + defaults       | DROP DEFAULT
        2BP01 | ALTER TABLE t ALTER a SET DEFAULT shard_0005.next_id(); SELECT drop_shard(5)                | shard 5 + defaults | DROP DEFAULT
        2BP01 | ALTER TABLE t ALTER a SET DEFAULT nextval('shard_0005.shard_id_seq'); SELECT drop_shard(5) | shard 5 + defaults | DROP DEFAULT
        2BP01 | ALTER TABLE t ALTER a SET DEFAULT 1 + next_id(5) * 2; SELECT drop_shard(5)                 | shard 5 + defaults | DROP DEFAULT
        2BP01 | ALTER TABLE t ALTER a DROP DEFAULT; CREATE VIEW v AS SELECT shard_0005.next_id(); SELECT drop_shard(5) | shard 5 + other objects | CREATE OR REPLACE
        2BP01 | SELECT drop_shard(6)                            | shard 6 + id sequences   | DROP SEQUENCE
        42710 | SELECT create_id_sequence('t_id', 6)            | t_id exists              | FROM shardid.id_sequence
        42P07 | SELECT create_id_sequence('t', 6)               | public.t + shard 6       | RENAME
        42710 | SELECT create_id_sequence('t_id', 7)            | t_id exists              | FROM shardid.id_sequence
        42710 | SELECT create_id_sequence('t_id', 6, 'js53')    | t_id exists              | FROM shardid.id_sequence
        22003 | SELECT create_id_sequence('t2_id', 8192)        | shard 8192               | FROM shardid.layouts
        22003 | SELECT create_id_sequence('t2_id', NULL)        | shard null               | FROM shardid.layouts
        42704 | SELECT create_id_sequence('t2_id', 6, 'nope')   | "nope"                   | create_layout()
        42602 | SELECT create_id_sequence('a.b.c', 6)           | "a.b.c"                  | schema.name
        42602 | SELECT create_id_sequence(NULL, 6)              | name of a sequence       | schema.name
        3F000 | SELECT create_id_sequence('nowhere.ids', 6)     | "nowhere"                | CREATE SCHEMA nowhere
        3F000 | SET LOCAL search_path = ''; SELECT public.create_id_sequence('ids', 6) | no schema + "ids"  | create_id_sequence('public.ids', 6)
        42704 | SELECT adopt_shard(5)                           | shard 5                  | FROM shardid.shards
        "#,
    );
    // The default of another shard, whose number only begins alike, is no reason.
    run(
        &mut client,
        "SELECT create_shard(55); ALTER TABLE t ALTER a SET DEFAULT next_id(55); SELECT drop_shard(5)",
    );
}

#[test]
fn ids_that_cannot_be_taken() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(6); SELECT create_id_sequence('t_id', 5); CREATE TABLE t (id bigint); CREATE SEQUENCE plain",
    );
    refuses(
        &mut client,
        r#"
        55000 | SELECT last_id()                       | last_id + this session   | next_id
        55000 | SELECT next_id()                       | next_id() + which shard  | SET shardid.shard
        42704 | SET LOCAL shardid.shard = 77; SELECT next_id() | shard 77         | SELECT create_shard(77);
        42704 | SELECT next_id(7)                      | shard 7                  | SELECT create_shard(7);
        42704 | SELECT next_ids(7, 3)                  | shard 7                  | SELECT create_shard(7);
        42704 | SELECT * FROM next_ids(7, 3)           | shard 7                  | SELECT create_shard(7);
        22003 | SELECT next_id(8192)                   | shard 8192 + "instagram" | FROM shardid.layouts
        22003 | SELECT next_id(-1)                     | shard -1 + "instagram"   | FROM shardid.layouts
        22003 | SELECT next_ids(5, -1)                 | count + -1               | next_ids(5, 
        42704 | SELECT next_id_from('plain')           | plain                    | create_id_sequence(
        42704 | SELECT next_id_from('t')               | t                        | create_id_sequence(
        42704 | SELECT next_id_from('shard_0005.shard_id_seq') | shard_0005.shard_id_seq | create_id_sequence(
        42704 | SELECT next_id_from(1::oid::regclass)  | 1                        | create_id_sequence(
        25006 | SET TRANSACTION READ ONLY; SELECT next_id(5)           | next_id() + read-only |
        25006 | SET TRANSACTION READ ONLY; SELECT next_ids(5, 2)       | next_id() + read-only |
        25006 | SET TRANSACTION READ ONLY; SELECT next_id_from('t_id') | next_id() + read-only |
        25006 | SET LOCAL shardid.shard = 5; SET TRANSACTION READ ONLY; SELECT next_id() | next_id() + read-only |
        22023 | SET LOCAL shardid.shard = -2           | shardid.shard            |
        22023 | SET LOCAL shardid.block = 0            | shardid.block            |
        22023 | SET LOCAL shardid.max_wait = '-1s'     | shardid.max_wait         |
        22023 | SET LOCAL shardid.lease = 0            | shardid.lease            |
        "#,
    );
    // A block that was taken before is no way around it.
    for sql in [
        "SELECT count(next_id(5)) FROM generate_series(1, 100); SET TRANSACTION READ ONLY; SELECT next_id(5)",
        "SELECT next_ids(5, 100); SET TRANSACTION READ ONLY; SELECT next_ids(5, 2)",
    ] {
        let refusal = expect_error(&mut client, sql, "25006");
        assert!(refusal.message.contains("next_id()"), "{refusal:?}");
    }
    run(&mut client, "SELECT next_id(5); ALTER SEQUENCE shard_0005.shard_id_seq SET UNLOGGED");
    refuses(
        &mut client,
        "55000 | SELECT next_id(5) | shard_0005.shard_id_seq + not permanent | ALTER SEQUENCE shard_0005.shard_id_seq SET LOGGED;",
    );
    run(&mut client, "ALTER SEQUENCE shard_0005.shard_id_seq SET LOGGED");
    run(&mut client, "SELECT next_id(5)");
}

#[test]
fn a_database_without_shards_says_how_to_make_one() {
    refuses(
        &mut Database::fresh().connect(),
        "55000 | SELECT next_id() | next_id() + which shard | SELECT create_shard(0);",
    );
}

#[test]
fn numbers_times_and_texts_that_are_no_ids() {
    let database = with_shard_5();
    let mut client = database.connect();
    refuses(
        &mut client,
        r#"
        22003 | SELECT id_time(-1)                        | -1 + negative      |
        22003 | SELECT id_shard(-1)                       | -1 + negative      |
        22003 | SELECT id_slot(-9223372036854775808)      | -9223372036854775808 |
        22003 | SELECT id_parts(-1)                       | -1 + negative      |
        22003 | SELECT id_parts(9007199254740992, 'js53') | 9007199254740992 + last id 9007199254740991 | id_explain(9007199254740992)
        42704 | SELECT id_time(1, 'nope')                 | layout "nope"      | create_layout(
        42704 | SELECT id_at(now(), 'nope')               | layout "nope"      | create_layout(
        22003 | SELECT id_at('2060-11-03 19:53:47.776Z')  | layout "instagram" | ends_at
        22003 | SELECT id_at('2038-01-19 03:14:08Z', 'log32') | layout "log32" | ends_at
        22008 | SELECT id_at('infinity')                  | infinite           | now()
        22008 | SELECT id_at('-infinity', 'js53')         | infinite           | now()
        22003 | SELECT id_text(-1)                        | -1 + negative      |
        22P02 | SELECT id_from_text('')                   | "" + 13            | id_text(
        22P02 | SELECT id_from_text('0123456789ABCDEF')   | "0123456789ABCDEF" + 13 | id_text(
        22P02 | SELECT id_from_text('00000000000U0')      | "00000000000U0"    | id_text(
        22P02 | SELECT id_from_text('8000000000000')      | "8000000000000"    | id_text(
        22003 | SELECT conceal_id(-1, '0123456789abcdef') | -1 + negative      |
        22003 | SELECT reveal_id(-1, '0123456789abcdef')  | -1 + negative      |
        22023 | SELECT conceal_id(1, '0123456789abcde')   | 16 bytes + not 15  | openssl rand
        22023 | SELECT reveal_id(1, '')                   | 16 bytes + not 0   | openssl rand
        "#,
    );
    // Just inside.
    run(
        &mut client,
        "SELECT id_at('2060-11-03 19:53:47.775999Z'), id_at('2038-01-19 03:14:07.999Z', 'log32'), \
             id_time(9223372036854775807), id_time(9007199254740991, 'js53'), id_from_text('7ZZZZZZZZZZZZ')",
    );
}

#[test]
fn layouts_that_are_none_and_layouts_that_stay() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000); SELECT create_shard(5, layout => 'mine'); \
         SELECT create_layout('yours', '2026-01-01Z', '10 ms', 1000, 1000); SELECT create_id_sequence('t_id', 5, 'yours')",
    );
    refuses(
        &mut client,
        r#"
        42710 | SELECT create_layout('mine', '2026-01-01Z', '1 ms', 10, 10)        | layout "mine"      | FROM shardid.layouts
        42710 | SELECT create_layout('instagram', '2026-01-01Z', '1 ms', 10, 10)   | layout "instagram" | FROM shardid.layouts
        22004 | SELECT create_layout(NULL, '2026-01-01Z', '1 ms', 10, 10)          | name               | SELECT create_layout(
        22004 | SELECT create_layout('', '2026-01-01Z', '1 ms', 10, 10)            | name               | SELECT create_layout(
        22004 | SELECT create_layout('x', NULL, '1 ms', 10, 10)                    | epoch              | SELECT create_layout(
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 ms', 0, 10)            | shards + not 0     |
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 ms', 10, -3)           | slots + not -3     |
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 ms', 10, 10, 0)        | ticks + not 0      |
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 ms', 2147483649, 1)    | shards + 2147483649 |
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 ms', 2147483648, 4294967297) | 2147483648 + 4294967297 | 2^63
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 ms', 8192, 1024, 1099511627777) | 1099511627777 | 2^63
        22023 | SELECT create_layout('x', '2026-01-01Z', '0', 10, 10)              | tick + not 0 microseconds |
        22023 | SELECT create_layout('x', '2026-01-01Z', '25 h', 10, 10)           | tick + 1 day       |
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 month', 10, 10)        | tick + fixed       | '1 ms'
        22023 | SELECT create_layout('x', '2026-01-01Z', '1 day', 10, 10)          | tick + fixed       | '1 ms'
        22008 | SELECT create_layout('x', 'infinity', '1 ms', 10, 10)              | infinite           |
        22023 | SELECT create_layout('x', '294276-12-31Z', '1 ms', 10, 10)         | epoch              |
        -- UidGenerator's default, whose end took its users by surprise
        22023 | SELECT create_layout('uid28', '2016-05-20 +08', '1 s', 4194304, 8192) | "uid28" + ended + 2024-11-20 | epoch
        55006 | UPDATE shardid.layout SET slots = 1 WHERE name = 'instagram'       | "instagram" + built in | create_layout()
        55006 | DELETE FROM shardid.layout WHERE name = 'js53'                     | "js53" + built in  | create_layout()
        55006 | UPDATE shardid.layout SET epoch = '2025-01-01Z' WHERE name = 'mine' | "mine" + in use   | create_layout()
        55006 | DELETE FROM shardid.layout WHERE name = 'yours'                    | "yours" + in use   | create_layout()
        55006 | TRUNCATE shardid.layout                                            | layouts + in use   | DELETE FROM shardid.layout
        -- nor past create_layout()
        22023 | INSERT INTO shardid.layout VALUES ('x', '2026-01-01Z', '1 ms', 1099511627777, 8192, 1024) | 1099511627777 |
        "#,
    );
    // What nobody uses may go.
    run(
        &mut client,
        "SELECT create_layout('free', '2026-01-01Z', '1 s', 2, 2); \
         UPDATE shardid.layout SET epoch = '2025-01-01Z' WHERE name = 'free'; DELETE FROM shardid.layout WHERE name = 'free'",
    );
}

#[test]
fn a_layout_that_is_used_up_is_refused_by_name() {
    let database = Database::fresh();
    let mut client = database.connect();
    // Ten ticks of four ids, of which the clock has used up one at most.
    run(
        &mut client,
        "SET client_min_messages = error; SET shardid.max_drift = '1d'; \
         SELECT create_layout('short', now(), '1 h', 16, 4, ticks => 10); \
         SELECT create_shard(3, layout => 'short'); SELECT create_id_sequence('t_id', 3, 'short')",
    );
    run(
        &mut client,
        "SELECT next_ids(3, 39); SELECT next_id_from('t_id') FROM generate_series(1, 39)",
    );
    let last = ids(&mut client, "SELECT last_id FROM shardid.shards")[0];
    assert_eq!(last, (9 * 16 + 3) * 4 + 3, "the layout's last id was not given out");
    refuses(
        &mut client,
        r#"
        22003 | SELECT next_ids(3, 1)               | layout "short" | FROM shardid.layouts
        22003 | SELECT next_id(3)                   | layout "short" | FROM shardid.layouts
        22003 | SELECT next_id_from('t_id')         | layout "short" | FROM shardid.layouts
        2200H | SELECT nextval('shard_0003.shard_id_seq') | shard_id_seq |
        "#,
    );
}

#[test]
fn names_counts_and_terms_that_are_none_are_refused() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(5), create_segment('orders', 10); CREATE VIEW trap AS SELECT 1 AS last_value",
    );
    refuses(
        &mut client,
        r#"
        42602 | SELECT create_shard(20, '')                              | a schema with a name | create_shard(5)
        42602 | SELECT create_id_sequence('a..b', 5)                     | "a..b"             | schema.name
        42602 | SELECT create_id_sequence('ok x', 5)                     | "ok x"             | double quotes
        42602 | SELECT create_id_sequence('', 5)                         | name of a sequence | schema.name
        42602 | SELECT create_id_sequence('a.b.c', 5)                    | "a.b.c"            | schema.name
        42602 | SELECT create_id_sequence(NULL, 5)                       | name of a sequence | schema.name
        42622 | SELECT create_id_sequence(repeat('x', 64), 5)            | too long + xxxx    | shorter
        22004 | CALL shardid.create_shards(NULL, 3)                              | first and the last | CALL shardid.create_shards(0, 1023)
        22004 | CALL shardid.create_shards(3, NULL)                              | first and the last | CALL shardid.create_shards(0, 1023)
        22023 | SELECT shardid.take_numbers('shardid_segments.orders', 0)  | 1 to 1000000000  | next_tickets
        22023 | SELECT shardid.take_numbers('shardid_segments.orders', -5) | 1 to 1000000000  | next_tickets
        42809 | SELECT shardid.take_numbers('trap', 1)                   | sequence that rises | create_segment
        42809 | SELECT shardid.read_sequence('trap'::regclass::oid)      | not a sequence     | shardid.shards
        42704 | SELECT shardid.read_sequence(1)                          | does not exist any more |
        22023 | SELECT shardid.claim_shard(5, -1)                        | term -1            | 1 and above
        22023 | SELECT shardid.claim_shard(-5, 1)                        | shard -5           | 0 and above
        55000 | TRUNCATE shardid.ticket                                  | shardid.ticket     | drop_ticket()
        55000 | TRUNCATE shardid.shard CASCADE                           | cannot be truncated | drop_shard()
        "#,
    );
    let said = expect_error(&mut client, "BEGIN; CALL shardid.create_shards(6, 7)", "25001");
    assert!(said.hint.contains("SELECT create_shard(s) FROM generate_series"), "{said:?}");
    run(&mut client, "ROLLBACK");
    run(&mut client, "CALL shardid.create_shards(6, 7)");
    assert_eq!(ids(&mut client, "SELECT count(*) FROM shardid.shards"), [3]);
}

/// By construction: what is refused in SQL has a code, and says what helps.
#[test]
fn every_refusal_of_the_script_has_a_code_and_a_hint() {
    let script = include_str!("../../../pg_extension/sql/shardid--0.2.0.sql");
    for refusal in script.split("RAISE EXCEPTION ").skip(1) {
        let end = refusal.find(";\n").expect("a statement ends");
        let refusal = &refusal[..end];
        // One function is told by its callers which.
        let has_code = refusal.contains("ERRCODE = '") || refusal.contains("ERRCODE = code,");
        assert!(has_code, "{refusal}");
        assert!(refusal.contains("HINT = "), "{refusal}");
    }
}

/// The hint had a user rename the extension's own next_id(): defaults failed after a dump.
#[test]
fn no_hint_renames_a_function_or_makes_another_generator_of_a_sequence() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_id_sequence('ids', 5); ALTER SEQUENCE ids INCREMENT 1; \
         CREATE SCHEMA app; CREATE FUNCTION app.next_id() RETURNS bigint RETURN 1",
    );
    for schema in ["public", "app", "shard_0005"] {
        let sql = format!("SELECT create_shard(7, '{schema}')");
        let refusal = expect_error(&mut client, &sql, "42723");
        assert!(!refusal.hint.contains("ALTER"), "{refusal:?}");
    }
    let refusal = expect_error(&mut client, "SELECT next_id_from('ids')", "55000");
    assert!(!refusal.hint.contains("create_shard"), "{refusal:?}");
    assert!(refusal.hint.contains("ALTER SEQUENCE public.ids INCREMENT 8388608"), "{refusal:?}");
    // A trigger of ours that a superuser has made on another table.
    run(
        &mut client,
        "CREATE TABLE other (sequence int[]); CREATE TABLE another (i int); \
         CREATE TRIGGER t AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION shardid.generator_changed(); \
         CREATE TRIGGER t BEFORE INSERT ON another FOR EACH ROW EXECUTE FUNCTION shardid.generator_changed()",
    );
    for table in ["other", "another"] {
        let sql = format!("INSERT INTO {table} DEFAULT VALUES");
        let refusal = expect_error(&mut client, &sql, "0A000");
        assert!(refusal.message.contains(&format!("public.{table}")), "{refusal:?}");
    }
}

/// The servers of these tests are started with RUST_BACKTRACE=1: each error had the names of our functions in its
/// detail, and one from deep within a default took minutes, which nothing interrupted.
#[test]
fn no_error_shows_where_in_the_code_it_comes_from() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('photos'), next_ticket('photos')");
    let refusal = expect_error(&mut client, "SELECT next_ticket_gapless('photos')", "55000");
    assert!(!refusal.detail.contains("0: "), "{}", refusal.detail);
    run(&mut client, "SELECT create_shard(5)");
    let deep = "+0".repeat(1500);
    run(&mut client, &format!("CREATE TABLE t (id bigint DEFAULT next_id(5{deep}))"));
    run(&mut client, "SET statement_timeout = '20s'");
    let began = std::time::Instant::now();
    // Dropped with a warning, or refused: either is an answer.
    let _ = client.batch_execute("SELECT drop_shard(5)");
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
}

/// Rust ends the process where it has no memory, and the server with it; PostgreSQL fails with 53200.
#[test]
fn a_text_that_is_longer_than_memory_fails_and_ends_nobody() {
    let server = Server::builder().name("limited").start();
    let mut witness = server.connect("postgres");
    run(&mut witness, "CREATE EXTENSION shardid");
    for call in
        ["id_from_text(long)", "id_time(1, long)", "id_at(now(), long)", "next_ticket(long)"]
    {
        for more_mb in (60..300).step_by(40) {
            let mut client = server.connect("postgres");
            let pid: i32 = one(&mut client, "SELECT pg_backend_pid()");
            server.limit_memory(pid, more_mb << 20);
            let sql = format!("SELECT {call} FROM repeat('0', 40000000) AS long");
            let refused = client.batch_execute(&sql).expect_err("no such thing");
            let words = refused.as_db_error().map(|it| it.message().to_owned());
            let words = words.unwrap_or_else(|| panic!("{call}, {more_mb} MB more: {refused}"));
            assert!(words.len() < 2_000, "{call}: {} bytes", words.len());
        }
    }
    run(&mut witness, "SELECT 1");
}
