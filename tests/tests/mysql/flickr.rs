//! Flickr's tables and their very statements.

use shardid_tests::my::{Engine, Server, expect_refused, query, shared, try_query};
use shardid_tests::mysql::Conn;
use shardid_tests::{assert_unique, on_both_engines};

use crate::harness::at_once;

on_both_engines!(
    two_servers_give_odd_and_even_numbers_also_after_a_restart,
    three_servers_give_every_third_number,
    sixteen_clients_deadlock_never,
    the_end_of_tickets32_is_an_error,
    a_session_keeps_its_own_step,
    a_counter_that_was_set_back_is_refused_and_mended,
    a_rolled_back_number_does_not_come_again,
    numbers_of_other_classes_are_refused,
    no_database_is_refused_before_anything_is_made,
    what_a_client_sets_lets_no_number_pass,
    what_a_client_sets_is_no_error_of_the_engine,
    a_row_that_is_refused_takes_no_numbers_away,
    raising_a_table_leaves_its_rows,
    what_is_there_under_these_names_is_not_replaced,
);

/// The literal statements.
fn replace(client: &mut Conn, table: &str) -> i64 {
    query(client, &format!("REPLACE INTO {table} (stub) VALUES ('a'); SELECT LAST_INSERT_ID()"))[0]
}

fn start(engine: Engine, number: u32, of: u32) -> Server {
    let server = Server::builder(engine).option(&format!("--server-id={number}")).start();
    server.query(&format!(
        "CREATE DATABASE flickr; CALL shardid.create_flickr_tables('flickr', {number}, {of})"
    ));
    server
}

fn numbers(server: &Server, table: &str, count: usize) -> Vec<i64> {
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr");
    (0..count).map(|_| replace(client, table)).collect()
}

fn two_servers_give_odd_and_even_numbers_also_after_a_restart(engine: Engine) {
    for (number, first) in [(1, [1, 3, 5]), (2, [2, 4, 6])] {
        let server = start(engine, number, 2);
        let mut last = Vec::new();
        for table in ["Tickets64", "Tickets32"] {
            assert_eq!(numbers(&server, table, 3), first, "{table}");
            last.push(first[2]);
        }
        for kill in [false, true] {
            if kill {
                server.kill9();
                server.start();
            } else {
                server.restart();
            }
            for (table, last) in ["Tickets64", "Tickets32"].into_iter().zip(&mut last) {
                // MariaDB may skip a number here: what counts is the class, and that it rises.
                for id in numbers(&server, table, 3) {
                    assert!(id > *last && id <= *last + 4, "{table}: {id} after {last}");
                    assert_eq!(id % 2, i64::from(number % 2), "{table}");
                    *last = id;
                }
            }
        }
    }
}

fn three_servers_give_every_third_number(engine: Engine) {
    for (number, expected) in [(1, [1, 4, 7]), (2, [2, 5, 8]), (3, [3, 6, 9])] {
        assert_eq!(numbers(&start(engine, number, 3), "Tickets64", 3), expected);
    }
}

fn sixteen_clients_deadlock_never(engine: Engine) {
    let server = start(engine, 2, 2);
    let got = at_once(&server, 16, |session, client| {
        query::<u64>(client, "USE flickr");
        let table = if session % 2 == 0 { "Tickets64" } else { "Tickets32" };
        (0..100).map(|_| replace(client, table)).collect()
    });
    for table in 0..2 {
        let of_table: Vec<_> =
            got.iter().filter(|(session, _)| session % 2 == table).cloned().collect();
        assert_eq!(assert_unique(&of_table), 800);
        assert!(of_table.iter().flat_map(|(_, all)| all).all(|number| number % 2 == 0));
    }
}

fn the_end_of_tickets32_is_an_error(engine: Engine) {
    let server = start(engine, 1, 1);
    server.query("CALL shardid.raise_ticket('Tickets32', 4294967290)");
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr");
    // MySQL leaves out one or two of the last numbers that MariaDB hands out.
    let mut last = 4_294_967_290;
    while let Ok(ids) = try_query::<i64>(
        client,
        "REPLACE INTO Tickets32 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()",
    ) {
        assert!(ids[0] > last && ids[0] < 4_294_967_295, "{} after {last}", ids[0]);
        last = ids[0];
    }
    assert!(last >= 4_294_967_292, "the last one is {last}");
    for _ in 0..3 {
        expect_refused(client, "REPLACE INTO Tickets32 (stub) VALUES ('a')", "22003");
    }
    assert_eq!(query::<i64>(client, "SELECT id FROM Tickets32"), [last]);
    // Its sibling has room: the same number there is no end.
    query::<u64>(client, "CALL shardid.raise_ticket('Tickets64', 4294967294)");
    assert_eq!(replace(client, "Tickets64"), 4_294_967_295);
}

fn a_session_keeps_its_own_step(engine: Engine) {
    let server = start(engine, 2, 3);
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr; SET auto_increment_increment = 7, auto_increment_offset = 5");
    assert_eq!(replace(client, "Tickets64"), 2);
    assert_eq!(replace(client, "Tickets64"), 5);
    query::<u64>(
        client,
        "CREATE TABLE own (id INT AUTO_INCREMENT PRIMARY KEY, n INT); INSERT INTO own (n) VALUES (1), (2)",
    );
    assert_eq!(query::<i64>(client, "SELECT id FROM own ORDER BY id"), [5, 12]);
    // A statement that fails half-way leaves the step; the next one puts it back.
    expect_refused(client, "INSERT INTO Tickets64 (stub) VALUES ('a')", "23000");
    replace(client, "Tickets64");
    query::<u64>(client, "INSERT INTO own (n) VALUES (3)");
    assert_eq!(query::<i64>(client, "SELECT max(id) FROM own"), [19]);
}

fn a_counter_that_was_set_back_is_refused_and_mended(engine: Engine) {
    let server = start(engine, 1, 2);
    assert_eq!(numbers(&server, "Tickets64", 3), [1, 3, 5]);
    server.query("TRUNCATE TABLE shardid.Tickets64");
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr");
    let words = expect_refused(client, "REPLACE INTO Tickets64 (stub) VALUES ('a')", "55000");
    assert!(words.contains("CALL shardid.raise_ticket('Tickets64', 5)"), "{words}");
    query::<u64>(client, "CALL shardid.raise_ticket('Tickets64', 5)");
    assert_eq!(replace(client, "Tickets64"), 7);
}

fn a_rolled_back_number_does_not_come_again(engine: Engine) {
    let server = start(engine, 1, 2);
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr; START TRANSACTION");
    assert_eq!(replace(client, "Tickets64"), 1);
    query::<u64>(client, "ROLLBACK");
    assert_eq!(replace(client, "Tickets64"), 3);
}

fn numbers_of_other_classes_are_refused(engine: Engine) {
    let client = &mut shared(engine).connect();
    expect_refused(client, "REPLACE INTO shardid.Tickets64 (stub) VALUES ('a')", "42704");
    query::<u64>(
        client,
        "CREATE DATABASE foreign_numbers; CALL shardid.create_flickr_tables('foreign_numbers', 2, 2)",
    );
    query::<u64>(
        client,
        "CALL shardid.create_flickr_tables('foreign_numbers', 2, 2); USE foreign_numbers",
    );
    expect_refused(client, "CALL shardid.create_flickr_tables('foreign_numbers', 1, 2)", "42710");
    expect_refused(client, "INSERT INTO Tickets64 (id, stub) VALUES (7, 'b')", "55000");
    expect_refused(client, "SELECT shardid.next_ticket('Tickets64')", "55000");
    query::<u64>(client, "INSERT INTO Tickets64 (id, stub) VALUES (8, 'b')");
    assert_eq!(replace(client, "Tickets64"), 10);
}

fn no_database_is_refused_before_anything_is_made(engine: Engine) {
    let server = Server::builder(engine).start();
    let client = &mut server.connect();
    for (name, said) in [("'absent'", "database absent"), ("NULL", "database NULL")] {
        let call = format!("CALL shardid.create_flickr_tables({name}, 1, 1)");
        let words = expect_refused(client, &call, "42704");
        assert!(words.starts_with(said) && words.contains("hint: CREATE DATABASE"), "{words}");
    }
    assert_eq!(query::<u64>(client, "SELECT count(*) FROM shardid.tickets"), [0]);
}

fn what_a_client_sets_lets_no_number_pass(engine: Engine) {
    let server = start(engine, 1, 2);
    assert_eq!(numbers(&server, "Tickets64", 3), [1, 3, 5]);
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr");
    // The variable by which rows that raise a table were once known.
    query::<u64>(
        client,
        "SET @shardid_raise_table = 3, @shardid_increment = 7, @shardid_offset = 7",
    );
    let old = "INSERT INTO Tickets64 (id, stub) VALUES (3, 'b')";
    let words = expect_refused(client, old, "55000");
    assert!(words.starts_with("number 3 of Tickets64 was handed out before"), "{words}");
    query::<u64>(client, "SET @shardid_raise_table = 8");
    expect_refused(client, "INSERT INTO Tickets64 (id, stub) VALUES (8, 'b')", "55000");
    let next = replace(client, "Tickets64");
    assert!(next > 5 && next % 2 == 1, "{next}");
}

/// One row that was refused had the engine's counter above it: the ticket was used up for good.
fn a_row_that_is_refused_takes_no_numbers_away(engine: Engine) {
    let server = start(engine, 1, 2);
    assert_eq!(numbers(&server, "Tickets32", 2), [1, 3]);
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr");
    for (id, sqlstate) in
        [(100, "55000"), (3, "55000"), (4_294_967_290_u64, "55000"), (4_294_967_295, "22003")]
    {
        let row = format!("INSERT INTO Tickets32 (id, stub) VALUES ({id}, 'b')");
        expect_refused(client, &row, sqlstate);
    }
    query::<u64>(client, "SET insert_id = 4294967290");
    expect_refused(client, "REPLACE INTO Tickets32 (stub) VALUES ('a')", "55000");
    query::<u64>(client, "SET insert_id = 0");
    // On MySQL that is a number, once.
    if let Err(refused) = try_query::<u64>(client, "REPLACE INTO Tickets32 (stub) VALUES ('a')") {
        assert!(refused.message.ends_with("hint: again"), "{refused:?}");
        query::<u64>(client, "REPLACE INTO Tickets32 (stub) VALUES ('a')");
    }
    assert_eq!(query::<u64>(client, "SELECT last_insert_id()"), [5]);
    query::<u64>(client, "INSERT INTO Tickets32 (id, stub) VALUES (7, 'b')");
    assert_eq!(replace(client, "Tickets32"), 9);
}

fn what_a_client_sets_is_no_error_of_the_engine(engine: Engine) {
    let server = start(engine, 1, 2);
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr");
    for (set, own) in [
        ("SET @shardid_increment = 'abc', @shardid_offset = NULL", [1, 1]),
        ("SET @shardid_increment = 7, @shardid_offset = NULL", [7, 1]),
        ("SET @shardid_increment = -1, @shardid_offset = 1e300", [1, 1]),
        ("SET @shardid_increment = 7, @shardid_offset = 3", [7, 3]),
        ("SET @shardid_increment = 65535, @shardid_offset = '65536'", [65535, 1]),
        ("SET @shardid_increment = '99999', @shardid_offset = '0x10'", [1, 1]),
    ] {
        query::<u64>(client, set);
        let last = replace(client, "Tickets64");
        assert_eq!(last % 2, 1, "{set}");
        let steps = "SELECT @@auto_increment_increment, @@auto_increment_offset";
        let (step, offset): (i64, i64) = query(client, steps)[0];
        assert_eq!([step, offset], own, "{set}");
        query::<u64>(client, "SET auto_increment_increment = 1, auto_increment_offset = 1");
        assert_eq!(replace(client, "Tickets64"), last + 2);
        assert_eq!(query::<(i64, i64)>(client, steps), [(1, 1)]);
    }
}

/// The hint of the error is that very call.
fn raising_a_table_leaves_its_rows(engine: Engine) {
    let server = start(engine, 1, 2);
    let client = &mut server.connect();
    query::<u64>(client, "USE flickr");
    for table in ["Tickets64", "Tickets32"] {
        query::<u64>(client, &format!("REPLACE INTO {table} (stub) VALUES ('')"));
        query::<u64>(client, &format!("REPLACE INTO {table} (stub) VALUES ('\u{e000}')"));
        assert_eq!(replace(client, table), 5);
        let rows = format!("SELECT id, hex(stub) FROM {table} ORDER BY id");
        let before: Vec<(i64, String)> = query(client, &rows);
        assert_eq!(before.len(), 3);
        let old = format!("INSERT INTO {table} (id, stub) VALUES (1, 'b')");
        let words = expect_refused(client, &old, "55000");
        assert!(words.ends_with("hint: leave the id to the table"), "{words}");
        query::<u64>(client, &format!("CALL shardid.raise_ticket('{table}', 5)"));
        assert_eq!(query::<(i64, String)>(client, &rows), before);
        query::<u64>(client, &format!("CALL shardid.raise_ticket('{table}', 1000)"));
        assert_eq!(query::<(i64, String)>(client, &rows), before);
        assert_eq!(replace(client, table), 1001);
    }
    query::<u64>(client, "CALL shardid.raise_ticket('Tickets32', 4294967295)");
    query::<u64>(client, "CALL shardid.raise_ticket('Tickets32', 4294967295)");
    assert_eq!(query::<i64>(client, "SELECT count(*) FROM Tickets32"), [3]);
}

fn what_is_there_under_these_names_is_not_replaced(engine: Engine) {
    let server = Server::builder(engine).start();
    let client = &mut server.connect();
    query::<u64>(
        client,
        "CREATE DATABASE viewed; CREATE DATABASE tabled; CREATE DATABASE fresh; CREATE TABLE tabled.Tickets32 (id INT, stub INT);
         CREATE VIEW viewed.Tickets64 AS SELECT 7 AS id, 'own' AS stub",
    );
    for (database, what) in [
        ("viewed", "viewed.Tickets64"),
        ("tabled", "tabled.Tickets32"),
        ("shardid", "shardid.Tickets"),
    ] {
        let call = format!("CALL shardid.create_flickr_tables('{database}', 1, 2)");
        let words = expect_refused(client, &call, "42710");
        assert!(words.starts_with(&format!("table {what}")), "{words}");
        assert!(words.contains("hint: RENAME TABLE") || database == "shardid", "{words}");
    }
    assert_eq!(query::<String>(client, "SELECT stub FROM viewed.Tickets64"), ["own"]);
    assert_eq!(query::<i64>(client, "SELECT count(*) FROM shardid.tickets"), [0]);
    // One of the two has another class: neither is made.
    query::<u64>(client, "CALL shardid.create_ticket('Tickets32', 2, 2)");
    expect_refused(client, "CALL shardid.create_flickr_tables('fresh', 1, 2)", "42710");
    assert_eq!(query::<String>(client, "SELECT name FROM shardid.tickets"), ["Tickets32"]);
    query::<u64>(client, "CALL shardid.create_flickr_tables('fresh', 2, 2)");
    // And again, of this server's own.
    query::<u64>(client, "CALL shardid.create_flickr_tables('fresh', 2, 2)");
    query::<u64>(
        client,
        "RENAME TABLE `viewed`.`Tickets64` TO `viewed`.`Tickets64_before`; CALL shardid.create_flickr_tables('viewed', 2, 2)",
    );
}

/// A database that is there by another case of its letters was to be made first, which failed. MySQL
/// takes the setting only where its folder is made with it.
#[test]
fn a_database_is_found_by_any_case_of_its_name_where_the_server_has_but_one() {
    let server =
        Server::builder(Engine::MariaDb).option("--lower-case-table-names=1").bare().start();
    server.install();
    let client = &mut server.connect();
    query::<u64>(
        client,
        "CREATE DATABASE Flickr; CALL shardid.create_flickr_tables('Flickr', 1, 2); USE Flickr",
    );
    assert_eq!([replace(client, "Tickets64"), replace(client, "tickets64")], [1, 3]);
    query::<u64>(client, "CALL shardid.create_flickr_tables('FLICKR', 1, 2)");
    expect_refused(client, "CALL shardid.create_flickr_tables('Photos', 1, 2)", "42704");
}
