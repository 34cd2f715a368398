//! Whoever owns the schema of a sequence puts a view in its place while somebody else waits
//! for it: nothing of his runs with the rights of the one who waited.
//!
//! Every function that uses a sequence by what the rows or names say is called while the
//! owner holds the sequence, in each way to give its name to something else.

use std::thread;
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Refusal, wait_until};

use crate::ask::{one, run};

/// What the owner's function says when it runs; no error of ours has this SQLSTATE.
const RAN: &str = "EV002";

/// What a superuser may say of what the owner has made, and the sequence that it uses.
const CALLS: &[(&str, &str, &str)] = &[
    // Left by an extension that was dropped: taken up again.
    ("left", "SELECT create_shard(7)", "shard_0007.shard_id_seq"),
    ("left", "SELECT create_id_sequence('app.ids', 8)", "app.ids"),
    ("left", "SELECT create_ticket('photos')", "shardid_tickets.photos"),
    ("left", "SELECT shardid.create_ticket_above('photos', 1, 1, 5)", "shardid_tickets.photos"),
    ("left", "SELECT create_segment('orders', 10)", "shardid_segments.orders"),
    ("known", "SELECT next_ticket_gapless('photos')", "shardid_tickets.photos"),
    ("known", "SELECT shardid.raise_ticket('photos', 1000)", "shardid_tickets.photos"),
    ("known", "SELECT shardid.limit_ticket('photos', 1000)", "shardid_tickets.photos"),
    ("known", "SELECT shardid.restep_ticket('photos', 2, 3, 1000)", "shardid_tickets.photos"),
    ("known", "SELECT drop_ticket('photos')", "shardid_tickets.photos"),
    ("known", "SELECT next_ticket('photos')", "shardid_tickets.photos"),
    ("known", "SELECT shardid.raise_segment('orders', 1000)", "shardid_segments.orders"),
    ("known", "SELECT next_segment('orders')", "shardid_segments.orders"),
    ("known", "SELECT drop_segment('orders')", "shardid_segments.orders"),
    ("known", "SELECT next_id(7)", "shard_0007.shard_id_seq"),
    ("known", "SELECT drop_shard(7)", "shard_0007.shard_id_seq"),
    ("known", "SELECT next_id_from('app.ids')", "app.ids"),
];

/// How the owner gives the name to a view: what he does in the transaction that holds the
/// sequence, what in another while the call waits, and how the first one ends.
/// `@` is the schema, `%` the sequence in it.
const SWAPS: &[(&str, &str, &str)] = &[
    ("ALTER SEQUENCE @.% RENAME TO away; VIEW", "", "COMMIT"),
    ("DROP SEQUENCE @.% CASCADE; VIEW", "", "COMMIT"),
    // Renaming a schema waits for nobody.
    (
        "ALTER SEQUENCE @.% NO CYCLE",
        "ALTER SCHEMA @ RENAME TO away; CREATE SCHEMA @; GRANT USAGE ON SCHEMA @ TO PUBLIC; VIEW",
        "ROLLBACK",
    ),
    // The call waits a second time, for what has the name then.
    (
        "ALTER SEQUENCE @.% NO CYCLE",
        "ALTER SCHEMA @ RENAME TO away; CREATE SCHEMA @; GRANT USAGE ON SCHEMA @ TO PUBLIC; CREATE SEQUENCE @.%; BEGIN; ALTER SEQUENCE @.% RENAME TO soon; VIEW",
        "ROLLBACK",
    ),
];

const VIEW: &str = "CREATE VIEW @.% AS SELECT public.evil() AS last_value, 0::bigint AS log_cnt, public.evil() > 0 AS is_called; GRANT ALL ON @.% TO PUBLIC";

/// A database whose owner has the extension and one of each kind of generator.
fn prepared(kind: &str) -> (Database<'static>, String) {
    let database = Database::fresh_plain();
    let owner = database.role("owner");
    database.psql(&format!("ALTER DATABASE {} OWNER TO {owner}", database.name()));
    database.psql(&format!("ALTER SCHEMA public OWNER TO {owner}"));
    let mut client = database.connect_as(&owner);
    run(
        &mut client,
        &format!(
            "CREATE FUNCTION public.evil() RETURNS bigint LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'evil() ran as %', current_user USING ERRCODE = '{RAN}'; END $$"
        ),
    );
    run(
        &mut client,
        "CREATE SCHEMA app; CREATE EXTENSION shardid; \
         SELECT create_shard(7), create_shard(8), create_id_sequence('app.ids', 8), create_ticket('photos'), create_segment('orders', 10)",
    );
    run(&mut client, "SELECT next_id(7), next_id_from('app.ids'), next_segment('orders')");
    if kind == "left" {
        run(
            &mut client,
            "DROP EXTENSION shardid CASCADE; CREATE EXTENSION shardid; SELECT create_shard(8)",
        );
    }
    (database, owner)
}

/// Says `call` as a superuser while the owner swaps what it uses; what was said to it.
fn swapped(kind: &str, call: &str, sequence: &str, swap: (&str, &str, &str)) -> Option<Refusal> {
    let (database, owner) = prepared(kind);
    let (schema, name) = sequence.split_once('.').expect("it has a schema");
    let filled = |sql: &str| sql.replace("VIEW", VIEW).replace('@', schema).replace('%', name);
    let mut holding = database.connect_as(&owner);
    let mut other = database.connect_as(&owner);
    let mut watching = database.connect();
    run(&mut holding, &format!("BEGIN; {}", filled(swap.0)));
    let mut victim = database.connect();
    let pid: i32 = one(&mut victim, "SELECT pg_backend_pid()");
    // What runs with the victim's rights for seconds must not hang the test.
    run(&mut victim, "SET statement_timeout = '20s'");
    let sql = call.to_owned();
    let said = thread::spawn(move || victim.batch_execute(&sql).err());
    let waits = |watching: &mut Client| {
        one::<bool>(
            watching,
            &format!(
                "SELECT coalesce(bool_or(wait_event_type = 'Lock'), false) FROM pg_stat_activity WHERE pid = {pid}"
            ),
        )
    };
    // Some need no lock, and are through.
    let over = |said: &thread::JoinHandle<_>| said.is_finished();
    wait_until(Duration::from_secs(20), "the call to wait, or to end", || {
        over(&said) || waits(&mut watching)
    });
    if !swap.1.is_empty() {
        run(&mut other, &filled(swap.1));
    }
    run(&mut holding, swap.2);
    if swap.1.contains("BEGIN") {
        // Perhaps it waits for the second one; if not, it is through soon.
        thread::sleep(Duration::from_millis(100));
        run(&mut other, "COMMIT");
    }
    let error = said.join().expect("no assertion is in there")?;
    Some(Refusal::of(&error).unwrap_or_else(|| panic!("{call}: {error:?}")))
}

/// A word of how it went, to see that the cases are not all refused for something else.
fn play(kind: &str) {
    let mut went = Vec::new();
    for (of, call, sequence) in CALLS.iter().filter(|(of, ..)| *of == kind) {
        for (number, swap) in SWAPS.iter().enumerate() {
            let said = swapped(of, call, sequence, *swap);
            let word = said.map_or("ok".to_owned(), |r| format!("{}: {}", r.sqlstate, r.message));
            println!("{call}, swap {number}: {word}");
            assert!(!word.contains(RAN), "{call}, swap {number}: {word}");
            assert!(!word.starts_with("XX"), "{call}, swap {number}: {word}");
            assert!(!word.starts_with("57014"), "{call}, swap {number}: {word}");
            went.push(word);
        }
    }
    assert!(went.iter().any(|word| word == "ok"), "none was through: {went:?}");
}

#[test]
fn a_view_in_place_of_a_sequence_that_is_taken_up_runs_nothing() {
    play("left");
}

#[test]
fn a_view_in_place_of_a_sequence_that_is_used_runs_nothing() {
    play("known");
}

/// No race is needed where the rows are his to write.
#[test]
fn a_row_that_names_a_view_runs_nothing() {
    let (database, owner) = prepared("known");
    let mut client = database.connect_as(&owner);
    run(&mut client, &VIEW.replace('@', "app").replace('%', "trap"));
    for table in ["shard", "ticket", "segment", "id_sequence"] {
        // A trigger may refuse it, and then there is nothing to see.
        let _ = client.batch_execute(&format!(
            "UPDATE shardid.{table} SET sequence = 'app.trap'::regclass::oid::regclass"
        ));
    }
    let traps: i64 = one(
        &mut client,
        "SELECT count(*) FROM shardid.ticket WHERE sequence = 'app.trap'::regclass",
    );
    assert_eq!(traps, 1, "the row names the view");
    let mut superuser = database.connect();
    for (_, call, _) in CALLS {
        if let Err(error) = superuser.batch_execute(call) {
            let said = Refusal::of(&error).unwrap_or_else(|| panic!("{call}: {error:?}"));
            println!("{call}: {}: {}", said.sqlstate, said.message);
            assert_ne!(said.sqlstate, RAN, "{call}");
            assert!(!said.sqlstate.starts_with("XX"), "{call}: {}", said.message);
        }
    }
    for view in ["shards", "tickets", "segments"] {
        run(&mut superuser, &format!("SELECT * FROM shardid.{view}"));
    }
}

/// Where it is the owner who made the schema that tickets live in, a superuser's do not go there.
#[test]
fn a_superuser_makes_no_ticket_in_a_schema_of_anothers() {
    let database = Database::fresh();
    let owner = database.role("owner");
    for (schema, call) in [
        ("shardid_tickets", "SELECT create_ticket('mine')"),
        ("shardid_segments", "SELECT create_segment('mine', 10)"),
    ] {
        database.psql(&format!("CREATE SCHEMA {schema} AUTHORIZATION {owner}"));
        let mut client = database.connect();
        let said = shardid_tests::expect_error(&mut client, call, "42501");
        assert!(
            said.message.contains(&format!("schema {schema} belongs to role")),
            "{}",
            said.message
        );
        assert!(
            said.hint.contains(&format!(
                "a superuser may give it away: ALTER SCHEMA {schema} OWNER TO "
            )),
            "{}",
            said.hint
        );
        run(&mut client, &format!("ALTER SCHEMA {schema} OWNER TO CURRENT_USER; {call}"));
    }
}

/// Its owner could give it another body later, and defaults of others call it.
#[test]
fn a_next_id_of_anothers_is_not_taken_for_one_of_ours() {
    let database = Database::fresh();
    let plain = database.role("plain");
    database.psql(&format!("CREATE SCHEMA app; GRANT USAGE, CREATE ON SCHEMA app TO {plain}"));
    let mut client = database.connect_as(&plain);
    run(
        &mut client,
        "CREATE FUNCTION app.next_id() RETURNS bigint LANGUAGE sql RETURN public.next_id(5); \
         COMMENT ON FUNCTION app.next_id() IS 'a new id on shard 5'",
    );
    let mut superuser = database.connect();
    shardid_tests::expect_error(&mut superuser, "SELECT create_shard(5, 'app')", "42723");

    // One that comes while the sequence is waited for.
    run(&mut client, "DROP FUNCTION app.next_id()");
    run(&mut client, "BEGIN; CREATE SEQUENCE app.shard_id_seq");
    let pid: i32 = one(&mut superuser, "SELECT pg_backend_pid()");
    let said =
        thread::spawn(move || superuser.batch_execute("SELECT create_shard(5, 'app')").err());
    let mut watching = database.connect();
    wait_until(Duration::from_secs(20), "create_shard() to wait", || {
        one(
            &mut watching,
            &format!(
                "SELECT coalesce(bool_or(wait_event_type = 'Lock'), false) FROM pg_stat_activity WHERE pid = {pid}"
            ),
        )
    });
    run(
        &mut database.connect_as(&plain),
        "CREATE FUNCTION app.next_id() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    );
    run(&mut client, "ROLLBACK");
    let error = said.join().expect("no assertion is in there").expect("it is refused");
    let said = Refusal::of(&error).expect("the server says why");
    assert_eq!(said.sqlstate, "42723", "{said:?}");
    let of =
        "SELECT proowner::regrole::text FROM pg_proc WHERE oid = 'app.next_id()'::regprocedure";
    assert_eq!(one::<String>(&mut watching, of), plain);
}

/// A trigger of one on a table of his own would lock whatever that table names.
#[test]
fn nobody_makes_triggers_of_the_extensions_functions_or_reads_and_raises_what_is_not_his() {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5), next_id(5), create_segment('orders', 10)");
    let plain = database.role("plain");
    let mut superuser = database.connect();
    let functions: Vec<String> = crate::ask::column(
        &mut superuser,
        "SELECT DISTINCT t.tgfoid::regprocedure::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid \
         WHERE c.relnamespace = 'shardid'::regnamespace AND NOT t.tgisinternal",
    );
    assert!(functions.len() >= 7, "{functions:?}");
    let mut client = database.connect_as(&plain);
    run(&mut client, "CREATE TEMP TABLE t (sequence oid)");
    for function in functions {
        let sql =
            format!("CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION {function}");
        shardid_tests::expect_error(&mut client, &sql, "42501");
    }
    let sequence = "(SELECT sequence::oid FROM shardid.shard WHERE shard = 5)";
    for sql in [
        format!("SELECT shardid.last_id_at_most({sequence}, 5, 'instagram')"),
        format!("SELECT shardid.read_sequence({sequence})"),
        format!("SELECT shardid.hold_sequence({sequence})"),
    ] {
        shardid_tests::expect_error(&mut client, &sql, "42501");
    }
    let horizon = "SELECT last_value FROM shardid.horizon";
    let before: i64 = one(&mut client, horizon);
    for sql in
        ["note_restored(0)", "is_begun('pg_sequence')", "wait_for_number('shardid.shard', 5)"]
    {
        shardid_tests::expect_error(&mut client, &format!("SELECT shardid.{sql}"), "42501");
    }
    assert_eq!(one::<i64>(&mut client, horizon), before);
    // Nor does anybody take a generator of ids ahead by the count of segments.
    database.psql(&format!("GRANT USAGE ON SCHEMA shard_0005 TO {plain}; GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {plain}"));
    let take = "SELECT shardid.take_numbers('shard_0005.shard_id_seq', 1000000000)";
    shardid_tests::expect_error(&mut client, take, "42809");
}
