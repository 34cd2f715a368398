//! The blocks in which a busy session takes tickets: what they must not cost.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{scope, sleep};
use std::time::Duration;

use shardid_tests::my::{Engine, expect_refused, query, shared, try_query};
use shardid_tests::mysql::Conn;
use shardid_tests::{assert_rising, assert_unique, on_both_engines};

on_both_engines!(
    a_session_that_takes_its_time_leaves_no_gap,
    a_busy_session_takes_blocks_in_its_class,
    a_block_is_not_handed_out_late,
    no_block_is_handed_out_after_its_ticket_was_raised,
    a_zone_of_a_session_lets_no_block_live_on,
    a_block_whose_transaction_is_undone_is_not_handed_out,
    the_numbers_of_a_session_rise_however_they_are_taken,
    the_last_numbers_are_all_handed_out,
    two_tickets_have_nothing_in_common,
    variables_of_a_client_reach_no_ticket,
    gapless_numbers_are_given_back_and_waited_for,
    no_routine_skips_locked_rows_in_an_aggregate,
);

fn create(client: &mut Conn, name: &str, server: u32, servers: u32) {
    query::<u64>(client, &format!("CALL shardid.create_ticket('{name}', {server}, {servers})"));
}

fn take(client: &mut Conn, name: &str, count: usize) -> Vec<i64> {
    let sql = format!("SELECT shardid.next_ticket('{name}')");
    (0..count).map(|_| query::<i64>(client, &sql)[0]).collect()
}

fn last(client: &mut Conn, name: &str) -> i64 {
    query(client, &format!("SELECT last_ticket FROM shardid.tickets WHERE name = '{name}'"))[0]
}

/// Takes numbers until some are left of a block; returns those taken.
fn until_a_block(client: &mut Conn, name: &str) -> Vec<i64> {
    let mut got = Vec::new();
    for _ in 0..1000 {
        got.extend(take(client, name, 1));
        let left = "SELECT coalesce(max(numbers), 0) FROM shardid.ticket_block WHERE session = connection_id()";
        if query::<i64>(client, left)[0] > 2 {
            return got;
        }
    }
    panic!("a thousand numbers without a block");
}

fn a_session_that_takes_its_time_leaves_no_gap(engine: Engine) {
    let client = &mut shared(engine).connect();
    create(client, "slow", 1, 1);
    for number in 1..=14 {
        assert_eq!(take(client, "slow", 1), [number]);
        assert_eq!(last(client, "slow"), number, "nothing was taken in advance");
        sleep(Duration::from_millis(110));
    }
}

fn a_busy_session_takes_blocks_in_its_class(engine: Engine) {
    let client = &mut shared(engine).connect();
    create(client, "busy", 2, 3);
    let got = until_a_block(client, "busy");
    assert!(last(client, "busy") > *got.last().expect("some"), "the rest of the block is taken");
    let all = [got, take(client, "busy", 100)].concat();
    assert_rising(&all);
    assert!(all.iter().all(|number| number % 3 == 2), "{all:?}");
    let most = *all.last().expect("some") + 3 * 32;
    assert!(last(client, "busy") < most, "a block has 32 numbers at most");
}

fn a_block_is_not_handed_out_late(engine: Engine) {
    let server = shared(engine);
    let (client, other) = (&mut server.connect(), &mut server.connect());
    create(client, "late", 1, 1);
    until_a_block(client, "late");
    sleep(Duration::from_millis(110));
    let others = take(other, "late", 1);
    assert!(take(client, "late", 1) > others, "what was left is older than what another has");
}

fn no_block_is_handed_out_after_its_ticket_was_raised(engine: Engine) {
    let server = shared(engine);
    let (client, others) = (&mut server.connect(), &mut [server.connect(), server.connect()]);
    create(client, "raised", 1, 1);
    create(client, "beside", 1, 1);
    query::<u64>(&mut others[1], "START TRANSACTION");
    until_a_block(&mut others[1], "beside");
    until_a_block(&mut others[0], "raised");
    // Nobody waits for a transaction that has another ticket.
    query::<u64>(client, "SET innodb_lock_wait_timeout = 1");
    query::<u64>(client, "CALL shardid.raise_ticket('raised', 1000000)");
    assert_eq!(take(&mut others[0], "raised", 1), [1_000_001]);
    query::<u64>(&mut others[1], "COMMIT");
    // One that hands out from a block of its own is waited for: a rollback gives it numbers back.
    until_a_block(&mut others[0], "raised");
    query::<u64>(&mut others[0], "START TRANSACTION");
    take(&mut others[0], "raised", 1);
    expect_refused(client, "CALL shardid.raise_ticket('raised', 2000000)", "55000");
    query::<u64>(&mut others[0], "COMMIT");
    query::<u64>(client, "CALL shardid.raise_ticket('raised', 2000000)");
    assert_eq!(take(&mut others[0], "raised", 1), [2_000_001]);
}

/// The row says that it was used in a minute; a session of the next zone had it then.
fn a_zone_of_a_session_lets_no_block_live_on(engine: Engine) {
    let client = &mut shared(engine).connect();
    create(client, "zoned", 1, 1);
    query::<u64>(client, "SET time_zone = '+00:00'");
    let got = until_a_block(client, "zoned");
    let last = last(client, "zoned");
    query::<u64>(
        client,
        "UPDATE shardid.ticket_block SET taken_us = taken_us + 60000000 WHERE place = connection_id() % 4096; SET time_zone = '+00:01'",
    );
    let next = take(client, "zoned", 1)[0];
    assert_eq!(next, last + 1, "after {got:?}");
}

fn a_block_whose_transaction_is_undone_is_not_handed_out(engine: Engine) {
    let server = shared(engine);
    let (client, other) = (&mut server.connect(), &mut server.connect());
    create(client, "gone", 1, 1);
    for end in ["ROLLBACK", "ROLLBACK TO before_it; COMMIT"] {
        query::<u64>(client, "START TRANSACTION; SAVEPOINT before_it");
        until_a_block(client, "gone");
        query::<u64>(client, end);
        // At once, while the block is young.
        let own = take(client, "gone", 3);
        let others = take(other, "gone", 100);
        let more = take(client, "gone", 50);
        assert_unique(&[("own", own), ("others", others), ("more", more)]);
    }
}

fn the_numbers_of_a_session_rise_however_they_are_taken(engine: Engine) {
    let client = &mut shared(engine).connect();
    create(client, "mixed", 1, 2);
    let mut all = until_a_block(client, "mixed");
    all.extend(query::<i64>(client, "SELECT shardid.next_tickets('mixed', 5)"));
    all.extend(until_a_block(client, "mixed"));
    all.extend(take(client, "mixed", 5));
    assert_rising(&all);
}

fn the_last_numbers_are_all_handed_out(engine: Engine) {
    let client = &mut shared(engine).connect();
    let largest = i64::MAX;
    query::<u64>(
        client,
        &format!("CALL shardid.create_ticket_above('last', 1, 1, {})", largest - 21),
    );
    let got = take(client, "last", 12);
    // Where a block is more than is left, single ones are given up to the last.
    let mut rest = Vec::new();
    while let Ok(more) = try_query::<i64>(client, "SELECT shardid.next_ticket('last')") {
        rest.extend(more);
    }
    let all = [got, rest].concat();
    assert_rising(&all);
    assert_eq!(all.last(), Some(&largest));
    expect_refused(client, "SELECT shardid.next_ticket('last')", "22003");
}

fn two_tickets_have_nothing_in_common(engine: Engine) {
    let client = &mut shared(engine).connect();
    create(client, "these", 1, 2);
    create(client, "those", 2, 2);
    let (mut these, mut those) = (until_a_block(client, "these"), until_a_block(client, "those"));
    for _ in 0..20 {
        these.extend(take(client, "these", 1));
        those.extend(take(client, "those", 1));
    }
    assert_rising(&these);
    assert_rising(&those);
    assert!(these.iter().all(|n| n % 2 == 1) && those.iter().all(|n| n % 2 == 0));
}

fn variables_of_a_client_reach_no_ticket(engine: Engine) {
    let client = &mut shared(engine).connect();
    create(client, "set", 1, 1);
    let mut all = until_a_block(client, "set");
    for variable in ["number", "last", "step", "turn", "block_row", "session_us", "statement_s"] {
        for value in ["1", "5", "NULL", "'x'", "1e18"] {
            all.extend(take(client, "set", 1));
            query::<u64>(client, &format!("SET @shardid_ticket_{variable} = {value}"));
            all.extend(take(client, "set", 2));
        }
    }
    query::<u64>(client, "SET @shardid_ticket = 'set', last_insert_id = 3");
    all.extend(take(client, "set", 100));
    assert_rising(&all);
}

fn gapless_numbers_are_given_back_and_waited_for(engine: Engine) {
    let server = shared(engine);
    let (client, other) = (&mut server.connect(), &mut server.connect());
    create(client, "invoices", 1, 1);
    let next = "SELECT shardid.next_ticket_gapless('invoices')";
    for number in 1..=20 {
        assert_eq!(query::<i64>(client, next), [number], "never a block");
    }
    query::<u64>(client, "START TRANSACTION");
    assert_eq!(query::<i64>(client, next), [21]);
    query::<u64>(other, "SET innodb_lock_wait_timeout = 1");
    let refused = try_query::<i64>(other, next).expect_err("the number is not decided yet");
    assert!(refused.message.contains("Lock wait timeout"), "{refused:?}");
    query::<u64>(client, "ROLLBACK");
    assert_eq!(query::<i64>(other, next), [21]);
    expect_refused(client, "SELECT shardid.next_ticket_gapless('absent')", "42704");
    // A ticket takes its numbers in one way.
    for other_way in ["next_ticket('invoices')", "next_tickets('invoices', 5)"] {
        let words = expect_refused(client, &format!("SELECT shardid.{other_way}"), "55000");
        assert!(words.contains("SELECT shardid.next_ticket_gapless('invoices')"), "{words}");
    }
    create(client, "receipts", 1, 1);
    take(client, "receipts", 1);
    let words = expect_refused(client, "SELECT shardid.next_ticket_gapless('receipts')", "55000");
    assert!(words.contains("may have gaps"), "{words}");
}

/// Two sessions have one place for their blocks where the numbers of their connections leave the same rest by 4096. Who had
/// a block there took a number beside it while the other held the place, and went on with the block afterwards. MySQL waits.
#[test]
fn the_numbers_of_a_session_rise_where_another_holds_the_place_of_its_block() {
    let server = shared(Engine::MariaDb);
    let (client, other) = (&mut server.connect(), &mut server.connect());
    create(client, "placed", 1, 1);
    let me = query::<u64>(client, "SELECT connection_id()")[0];
    let hold = format!(
        "START TRANSACTION; SELECT place FROM shardid.ticket_block WHERE place = {me} % 4096 FOR UPDATE"
    );
    for beside in ["next_ticket('placed')", "next_tickets('placed', 10)"] {
        let mut all = until_a_block(client, "placed");
        query::<i64>(other, &hold);
        all.extend(query::<i64>(client, &format!("SELECT shardid.{beside}")));
        query::<u64>(other, "COMMIT");
        all.extend(take(client, "placed", 3));
        assert_rising(&all);
        // Or for a moment.
        all.extend(until_a_block(client, "placed"));
        query::<i64>(other, &hold);
        all.extend(scope(|scope| {
            scope.spawn(|| {
                sleep(Duration::from_millis(1));
                query::<u64>(other, "COMMIT");
            });
            query::<i64>(client, &format!("SELECT shardid.{beside}"))
        }));
        all.extend(take(client, "placed", 3));
        assert_rising(&all);
    }
}

/// The optimizer answers `max()` and `min()` from the index: it locks the row beside as well, and waits for that whatever
/// SKIP LOCKED says. The next test finds that by chance, on a slow disk.
fn no_routine_skips_locked_rows_in_an_aggregate(engine: Engine) {
    let found: Vec<String> = query(
        &mut shared(engine).connect(),
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'shardid'
            AND routine_definition REGEXP '(max|min)[(][^;]* SKIP LOCKED'",
    );
    assert!(found.is_empty(), "{found:?}");
}

/// From MariaDB 11.6 on by default: who raised a ticket that others were taking got error 1020.
#[test]
fn a_ticket_is_raised_under_load_with_snapshot_isolation() {
    let server = shared(Engine::MariaDb);
    let there: Vec<(String, String)> =
        query(&mut server.connect(), "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'");
    if there.is_empty() {
        eprintln!("skipped: this MariaDB has no innodb_snapshot_isolation");
        return;
    }
    create(&mut server.connect(), "snapshot", 1, 1);
    let done = &AtomicBool::new(false);
    scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let client = &mut server.connect();
                while !done.load(Relaxed) {
                    take(client, "snapshot", 1);
                }
            });
        }
        let client = &mut server.connect();
        query::<u64>(client, "SET innodb_snapshot_isolation = ON");
        let raised: Vec<_> = (1..=300_i64)
            .map(|i| {
                let sql = format!("CALL shardid.raise_ticket('snapshot', {})", i * 1_000_000);
                try_query::<u64>(client, &sql).map(|_| ())
            })
            .collect();
        done.store(true, Relaxed);
        let failed: Vec<_> = raised.into_iter().filter_map(Result::err).collect();
        assert!(failed.is_empty(), "{} of 300: {:?}", failed.len(), failed[0]);
    });
}
