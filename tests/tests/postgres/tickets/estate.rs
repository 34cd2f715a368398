//! Who may use tickets and segments, and what a dump carries of them.

use shardid_tests::{Database, Server, expect_error};

use crate::ask::{column, ids, one, run};
use crate::dump::output;

#[test]
fn taking_numbers_takes_usage_on_the_sequence_and_no_more() {
    const WAYS: [(&str, &str); 4] = [
        ("photos", "SELECT next_ticket('photos')"),
        ("photos", "SELECT next_tickets('photos', 3)"),
        ("photos", "SELECT nextval('shardid_tickets.photos')"),
        ("invoices", "SELECT next_ticket_gapless('invoices')"),
    ];
    let database = Database::fresh();
    database.psql(
        "SELECT create_ticket('photos'), create_ticket('invoices'), create_segment('orders', 10)",
    );
    let role = database.role("app");
    let mut client = database.connect_as(&role);
    let segment = "SELECT next_segment('orders')";
    let all =
        "ON SEQUENCE shardid_tickets.photos, shardid_tickets.invoices, shardid_segments.orders";
    for privilege in ["USAGE", "UPDATE"] {
        // To look at a sequence is not to take from it.
        database.psql(&format!("GRANT SELECT {all} TO {role}"));
        for (name, sql) in WAYS {
            let refusal = expect_error(&mut client, sql, "42501");
            assert!(refusal.message.contains(name), "{refusal:?}");
            if !sql.contains("nextval") {
                let grant = format!("GRANT USAGE ON SEQUENCE shardid_tickets.{name} TO");
                assert!(refusal.hint.contains(&grant), "{refusal:?}");
            }
        }
        let refusal = expect_error(&mut client, segment, "42501");
        assert!(
            refusal.hint.contains("GRANT USAGE ON SEQUENCE shardid_segments.orders"),
            "{refusal:?}"
        );
        database.psql(&format!("REVOKE SELECT {all} FROM {role}"));
        let seen = "SELECT count(last_ticket) FROM shardid.tickets WHERE NOT gapless";
        assert_eq!(one::<i64>(&mut client, seen), 0);
        database.psql(&format!("GRANT {privilege} {all} TO {role}"));
        for (_, sql) in WAYS {
            run(&mut client, sql);
        }
        run(&mut client, segment);
        // Also in the middle of a transaction that has taken some.
        run(&mut client, "BEGIN; SELECT next_ticket('photos')");
        database.psql(&format!("REVOKE {privilege} {all} FROM {role}"));
        run(&mut client, "SELECT 1 FROM shardid.ticket");
        expect_error(&mut client, "SELECT next_ticket('photos')", "42501");
        run(&mut client, "ROLLBACK");
    }
    // That of a ticket without gaps is in a table, which everybody may read.
    let seen = "SELECT count(last_ticket) FROM shardid.tickets WHERE gapless";
    assert_eq!(one::<i64>(&mut client, seen), 1);
    // A function with its owner's rights takes numbers with those, and its caller still none.
    database.psql(
        "CREATE FUNCTION give() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT next_ticket(''photos'')'",
    );
    run(&mut client, "SELECT give()");
    expect_error(&mut client, "SELECT give(), next_ticket('photos')", "42501");
}

#[test]
fn what_changes_tickets_is_not_for_everybody() {
    let database = Database::fresh();
    database.psql("SELECT create_ticket('photos'), create_segment('orders', 10)");
    let role = database.role("app");
    database.psql(&format!(
        "GRANT CREATE ON DATABASE {} TO {role}; GRANT USAGE ON SEQUENCE shardid_tickets.photos TO {role}",
        database.name()
    ));
    let mut client = database.connect_as(&role);
    for sql in [
        "SELECT create_ticket('a')",
        "SELECT drop_ticket('photos')",
        "SELECT shardid.create_ticket_above('a', 1, 1, 0)",
        "SELECT shardid.limit_ticket('photos', 5)",
        "SELECT shardid.restep_ticket('photos', 1, 2, 5)",
        "SELECT shardid.raise_ticket('photos', 5)",
        "SELECT shardid.take_gapless('photos')",
        "SELECT shardid.make_ticket('a', 1, 1, 0, false)",
        "SELECT shardid.set_ticket(t, 5) FROM shardid.ticket t",
        "SELECT shardid.hold_ticket(t) FROM shardid.ticket t",
        "SELECT shardid.known_ticket('photos')",
        "SELECT create_segment('a', 10)",
        "SELECT alter_segment('orders', 20)",
        "SELECT drop_segment('orders')",
        "SELECT shardid.raise_segment('orders', 5)",
        "UPDATE shardid.ticket SET floor = 5",
        "DELETE FROM shardid.ticket",
        "UPDATE shardid.segment SET step = 5",
        "UPDATE shardid.server SET mark = 'x'",
        "INSERT INTO shardid.server DEFAULT VALUES",
        "DROP SEQUENCE shardid_tickets.photos",
        "CREATE TABLE shardid_tickets.mine ()",
    ] {
        expect_error(&mut client, sql, "42501");
    }
    run(
        &mut client,
        "SELECT next_ticket('photos'); SELECT * FROM shardid.tickets, shardid.segments, shardid.server",
    );
}

#[test]
fn a_role_that_was_granted_what_the_reference_names_makes_and_drops_tickets() {
    let database = Database::fresh();
    let role = database.role("maker");
    // The first one makes the schema.
    database.psql(&format!(
        "SELECT create_ticket('photos'); GRANT CREATE ON SCHEMA shardid_tickets TO {role}; \
         GRANT INSERT, UPDATE, DELETE ON shardid.ticket TO {role}; \
         GRANT EXECUTE ON FUNCTION create_ticket(text, integer, integer, boolean), drop_ticket(text), \
             shardid.make_ticket(text, integer, integer, bigint, boolean), shardid.set_ticket(shardid.ticket, bigint), \
             shardid.hold_ticket(shardid.ticket), shardid.known_ticket(text) TO {role}"
    ));
    let mut client = database.connect_as(&role);
    run(
        &mut client,
        "SELECT create_ticket('mine'); SELECT next_ticket('mine'); SELECT drop_ticket('mine')",
    );
    run(&mut client, "SELECT create_ticket('invoices'); SELECT next_ticket_gapless('invoices')");
    // What it did not make it cannot use or drop.
    expect_error(&mut client, "SELECT next_ticket('photos')", "42501");
    expect_error(&mut client, "SELECT drop_ticket('photos')", "42501");
}

#[test]
fn the_rights_of_the_gapless_function_reach_tickets_only() {
    let database = Database::fresh();
    database.psql("CREATE SEQUENCE other MINVALUE -1000; SELECT create_ticket('photos'); UPDATE shardid.ticket SET sequence = 'other'");
    let refusal =
        expect_error(&mut database.connect(), "SELECT next_ticket_gapless('photos')", "55000");
    assert!(refusal.message.contains("another schema"), "{refusal:?}");
}

#[test]
fn a_database_owner_who_is_no_superuser_makes_and_uses_them_and_takes_them_elsewhere() {
    let (from, to) = (Database::fresh_plain(), Database::fresh_plain());
    let owner = from.role("owner");
    for database in [&from, &to] {
        database.psql(&format!(
            "ALTER DATABASE {} OWNER TO {owner}; ALTER SCHEMA public OWNER TO {owner}",
            database.name()
        ));
    }
    let mut client = from.connect_as(&owner);
    run(
        &mut client,
        "CREATE EXTENSION shardid; SELECT create_ticket('photos', 1, 2), create_ticket('invoices'), create_segment('orders', 10); \
         SELECT next_tickets('photos', 5); SELECT next_ticket_gapless('invoices'), next_segment('orders'); \
         SELECT shardid.limit_ticket('photos', 100); SELECT shardid.restep_ticket('photos', 2, 3, 100); \
         SELECT shardid.create_ticket_above('users', 1, 1, 5); SELECT shardid.raise_ticket('users', 50); SELECT drop_ticket('users'); \
         SELECT alter_segment('orders', 20); INSERT INTO shardid.server (mark, marked_at) VALUES ('m', now())",
    );
    let dump = output(from.command("pg_dump").env("PGUSER", &owner));
    let file = std::env::temp_dir().join(format!("{}.sql", from.name()));
    std::fs::write(&file, dump).unwrap();
    let file = file.display().to_string();
    output(to.command("psql").env("PGUSER", &owner).args([
        "-Xq",
        "-v",
        "ON_ERROR_STOP=1",
        "-f",
        &file,
    ]));
    std::fs::remove_file(file).unwrap();
    let mut client = to.connect_as(&owner);
    assert_eq!(ids(&mut client, "SELECT next_ticket('photos')"), [101]);
    assert_eq!(ids(&mut client, "SELECT next_ticket_gapless('invoices')"), [2]);
    assert_eq!(ids(&mut client, "SELECT first FROM next_segment('orders')"), [11]);
    run(
        &mut client,
        "SELECT shardid.restep_ticket('photos', 1, 1, 200); SELECT drop_ticket('photos'); SELECT create_ticket('photos')",
    );
    assert_eq!(column::<String>(&mut client, "SELECT mark FROM shardid.server"), ["m"]);
}

/// All that a dump must bring along, as text.
const ESTATE: &str = "SELECT * FROM shardid.server; SELECT name, server, servers, last_ticket, ceiling, floor, sequence, gapless FROM shardid.tickets ORDER BY 1; \
     SELECT biz_tag, max_id, step, description, update_time, delta, remainder FROM shardid.segments ORDER BY 1; \
     SELECT relacl FROM pg_class WHERE relname = 'photos' AND relkind = 'S'; SELECT * FROM pg_sequences ORDER BY 1, 2";

#[test]
fn a_dump_carries_tickets_segments_and_the_mark_and_goes_on_above() {
    let database = Database::fresh();
    let role = database.role("app");
    database.psql(&format!(
        "SELECT create_ticket('photos', 2, 3); SELECT next_tickets('photos', 5); SELECT create_ticket('fresh', 2, 2); \
         SELECT create_ticket('Odd \"name\"'); SELECT next_ticket('Odd \"name\"'); \
         SELECT shardid.create_ticket_above('above', 1, 2, 1000); \
         SELECT create_ticket('limited'); SELECT next_ticket('limited'); SELECT shardid.limit_ticket('limited', 50); \
         SELECT create_ticket('invoices'); SELECT next_ticket_gapless('invoices'); \
         SELECT create_segment('orders', 10, delta => 2, remainder => 1); SELECT next_segment('orders'); \
         CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_ticket('photos'), \
             plain bigint DEFAULT nextval('shardid_tickets.photos')); INSERT INTO t DEFAULT VALUES; \
         GRANT USAGE ON SEQUENCE shardid_tickets.photos TO {role}; \
         INSERT INTO shardid.server (mark, marked_at) VALUES ('old', now())"
    ));
    let goes_on_in = |copy: &Database<'_>| {
        assert_eq!(copy.psql(ESTATE), database.psql(ESTATE));
        let mut client = copy.connect();
        run(&mut client, "INSERT INTO t DEFAULT VALUES");
        for (sql, next) in [
            ("SELECT next_ticket('photos')", 29),
            ("SELECT next_ticket('fresh')", 2),
            ("SELECT next_ticket('Odd \"name\"')", 2),
            ("SELECT next_ticket('above')", 1001),
            ("SELECT next_ticket('limited')", 2),
            ("SELECT next_ticket_gapless('invoices')", 2),
            ("SELECT first FROM next_segment('orders')", 11),
        ] {
            assert_eq!(ids(&mut client, sql), [next], "{sql}");
        }
        expect_error(&mut client, "SELECT next_tickets('limited', 48)", "55000");
        run(&mut client, "SELECT shardid.restep_ticket('limited', 1, 1, 100)");
        run(&mut copy.connect_as(&role), "SELECT next_ticket('photos')");
    };
    // Into another server, as a whole.
    let server = Server::builder().name("another server").fsync(false).start();
    server.psql("postgres", &format!("CREATE ROLE {role} LOGIN"));
    let copy = Database::plain_on(&server);
    copy.psql(&output(&mut database.command("pg_dump")));
    goes_on_in(&copy);
    // In parallel, onto what is there, and in sections.
    let file = std::env::temp_dir().join(format!("{}.dump", database.name())).display().to_string();
    output(database.command("pg_dump").args(["-Fc", "-f", &file]));
    let restore = |copy: &Database<'_>, arguments: &[&str]| {
        let mut command = copy.command("pg_restore");
        output(command.arg("--exit-on-error").args(arguments).args(["-d", copy.name(), &file]));
    };
    let copy = Database::fresh_plain();
    restore(&copy, &["-j", "2"]);
    goes_on_in(&copy);
    restore(&copy, &["--clean", "--if-exists"]);
    goes_on_in(&copy);
    let copy = Database::fresh_plain();
    for section in ["--section=pre-data", "--section=data", "--section=post-data"] {
        restore(&copy, &[section]);
    }
    goes_on_in(&copy);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn dropped_and_created_anew_it_goes_on_above_the_old_numbers() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 1, 2); SELECT next_tickets('photos', 5); SELECT create_segment('orders', 10), next_segment('orders')",
    );
    run(&mut client, "DROP EXTENSION shardid CASCADE; CREATE EXTENSION shardid");
    expect_error(&mut client, "SELECT next_ticket('photos')", "42704");
    expect_error(&mut client, "SELECT create_ticket('photos', 2, 2)", "42P07");
    run(&mut client, "SELECT create_ticket('photos', 1, 2); SELECT create_segment('orders', 10)");
    assert_eq!(ids(&mut client, "SELECT next_ticket('photos')"), [11]);
    assert_eq!(ids(&mut client, "SELECT first FROM next_segment('orders')"), [11]);
    // A session that knew the one before does not go on with it.
    let mut knew = database.connect();
    run(&mut knew, "SELECT next_ticket('photos')");
    run(&mut client, "SELECT drop_ticket('photos'); SELECT create_ticket('photos', 2, 2)");
    assert_eq!(ids(&mut knew, "SELECT next_ticket('photos')"), [2]);
}
