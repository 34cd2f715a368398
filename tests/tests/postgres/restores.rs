//! A server that goes on from an earlier moment: restored to a point in time, or promoted
//! without the last of what the primary wrote. What the primary gave since is not on its
//! pages, and does not come again.

use std::fs;
use std::time::Duration;

use shardid_tests::{Database, Server, expect_error, wait_until};

use crate::account::{
    AHEAD, Account, COARSE, DRIFT, Generator, assert_ahead, assert_none_twice, builder, ids_of,
};
use crate::ask::{one, run};

const GENERATORS: [Generator; 2] = [Generator::Shard(5), Generator::Sequence(6)];

/// A database with two generators that are ahead of the clock.
pub(crate) fn estate(primary: &Server) -> Database<'_> {
    let database = Database::on(primary);
    database.psql(&format!("{COARSE}; {}; {}", GENERATORS[0].make(), GENERATORS[1].make()));
    database
}

pub(crate) fn accounts() -> Vec<(Generator, Account)> {
    GENERATORS.map(|generator| (generator, Account::new(format!("{generator:?}")))).into()
}

/// Takes so many seconds' worth from each generator.
#[track_caller]
pub(crate) fn take(
    accounts: &mut [(Generator, Account)],
    database: &Database<'_>,
    occasion: &str,
    seconds: i32,
) {
    let mut client = database.connect();
    run(&mut client, &format!("SET shardid.max_drift = '{DRIFT}s'; SET shardid.lease = '10s'"));
    for (generator, account) in accounts {
        account.take(occasion, &mut client, &generator.take(ids_of(seconds)));
    }
}

/// Takes ids on the server that goes on, and asserts that none comes twice.
#[track_caller]
pub(crate) fn goes_on(
    mut accounts: Vec<(Generator, Account)>,
    server: &Server,
    database: &Database<'_>,
) {
    for (generator, account) in &mut accounts {
        let mut client = server.connect(database.name());
        run(&mut client, "SET shardid.max_wait = 0");
        assert_ahead(&mut client, account.highest(), "coarse");
        account.take_unless_ahead("gone on", &mut client, &generator.take(1));
        account.take_unless_ahead(
            "elsewhere",
            &mut server.connect(database.name()),
            &generator.take(1),
        );
        run(&mut client, "SET shardid.max_drift = '1d'");
        account.take("in the end", &mut client, &generator.take(ids_of(2 * AHEAD)));
    }
    assert_none_twice(accounts.iter().map(|(_, account)| account));
}

/// A shard ahead of the clock; a restore point; more ids; a restore to that point: the ids
/// after it came again.
#[test]
fn a_server_restored_to_a_point_in_time_repeats_nothing_of_what_was_given_after_it() {
    let primary = builder()
        .conf("archive_mode = on")
        .conf("archive_command = 'mkdir -p ../archive && cp %p ../archive/%f'")
        .start();
    let database = estate(&primary);
    // A base backup, and a server to restore it in.
    let restored = builder().name("restored").start_standby_of(&primary);
    restored.stop();
    let mut accounts = accounts();
    take(&mut accounts, &database, "before the point", AHEAD / 2);
    database.psql("SELECT pg_create_restore_point('before')");
    take(&mut accounts, &database, "after the point", AHEAD / 2);
    let segment = database.psql("SELECT pg_walfile_name(pg_current_wal_lsn())");
    database.psql("SELECT pg_switch_wal()");
    let archived =
        format!("SELECT coalesce(last_archived_wal >= '{segment}', false) FROM pg_stat_archiver");
    wait_until(Duration::from_secs(60), "the archive", || database.psql(&archived) == "t");
    primary.kill9();

    let data = restored.data();
    fs::rename(data.join("standby.signal"), data.join("recovery.signal")).unwrap();
    let archive = primary.folder().join("archive");
    restored.set_conf(&format!("restore_command = 'cp {}/%f %p'", archive.display()));
    restored.set_conf("recovery_target_name = 'before'");
    restored.set_conf("recovery_target_action = promote");
    restored.start();
    wait_until(Duration::from_secs(60), "the end of the recovery", || {
        restored.psql("postgres", "SELECT pg_is_in_recovery()") == "f"
    });
    goes_on(accounts, &restored, &database);
}

/// The standby had not got the last of it when the primary was lost.
#[test]
fn a_standby_promoted_without_the_last_records_repeats_nothing() {
    let primary = builder().start();
    let database = estate(&primary);
    let standby = builder().name("standby").start_standby_of(&primary);
    let mut accounts = accounts();
    take(&mut accounts, &database, "before the standby was cut off", AHEAD / 2);
    primary.wait_for(&standby);
    standby.stop();
    take(&mut accounts, &database, "after it was cut off", AHEAD / 2);
    primary.kill9();
    standby.start();
    standby.promote();
    goes_on(accounts, &standby, &database);
}

/// One session was allowed to go further ahead than the settings of the server say now.
#[test]
fn a_promoted_standby_knows_the_largest_drift_that_was_ever_allowed() {
    let plain = || Server::builder().fsync(false).conf("wal_writer_delay = '10s'");
    let primary = plain().start();
    let database = estate(&primary);
    let standby = plain().name("standby").start_standby_of(&primary);
    let mut accounts = accounts();
    take(&mut accounts, &database, "beyond the default", 20);
    primary.wait_for(&standby);
    standby.stop();
    take(&mut accounts, &database, "after it was cut off", AHEAD);
    primary.kill9();
    standby.start();
    standby.promote();
    goes_on(accounts, &standby, &database);
}

/// All sessions were allowed to go further than the default, and the first that did was lost.
#[test]
fn a_promoted_standby_goes_as_far_ahead_as_its_settings_allow() {
    let drift = format!("shardid.max_drift = '{DRIFT}s'");
    let plain = || Server::builder().fsync(false).conf("wal_writer_delay = '10s'").conf(&drift);
    let primary = plain().start();
    let database = estate(&primary);
    let mut accounts = accounts();
    let mut client = database.connect();
    for (generator, account) in &mut accounts {
        account.take("before the standby was cut off", &mut client, &generator.take(1));
    }
    let standby = plain().name("standby").start_standby_of(&primary);
    primary.wait_for(&standby);
    standby.stop();
    take(&mut accounts, &database, "after it was cut off", AHEAD);
    primary.kill9();
    standby.start();
    standby.promote();
    goes_on(accounts, &standby, &database);
}

/// A role was allowed to go further than all others, and its first id was lost.
#[test]
fn a_promoted_standby_goes_as_far_ahead_as_the_settings_of_any_role_allow() {
    let plain = || Server::builder().fsync(false).conf("wal_writer_delay = '10s'");
    let primary = plain().start();
    let database = estate(&primary);
    let mut accounts = accounts();
    let mut client = database.connect();
    for (generator, account) in &mut accounts {
        account.take("before the standby was cut off", &mut client, &generator.take(1));
    }
    run(
        &mut client,
        &format!(
            "CREATE ROLE bulk SUPERUSER LOGIN; ALTER ROLE bulk SET shardid.max_drift = '{DRIFT}s'; ALTER ROLE bulk SET shardid.lease = '10s'"
        ),
    );
    let standby = plain().name("standby").start_standby_of(&primary);
    primary.wait_for(&standby);
    standby.stop();
    let mut bulk = database.connect_as("bulk");
    for (generator, account) in &mut accounts {
        account.take("after it was cut off", &mut bulk, &generator.take(ids_of(AHEAD)));
    }
    primary.kill9();
    standby.start();
    standby.promote();
    goes_on(accounts, &standby, &database);
}

/// A role that is allowed less than the server's default had given the first id, and was the first to ask after the
/// promotion: it went by what it is allowed itself, into the midst of others' ids.
#[test]
fn a_promoted_standby_goes_as_far_ahead_as_others_than_who_asks_may() {
    let primary = Server::builder().fsync(false).start();
    let database = Database::on(&primary);
    database.psql(
        "SELECT create_shard(5); CREATE ROLE careful SUPERUSER LOGIN; ALTER ROLE careful SET shardid.max_drift = '500ms'",
    );
    run(&mut database.connect_as("careful"), "SELECT next_id(5)");
    let standby = Server::builder().fsync(false).name("standby").start_standby_of(&primary);
    primary.wait_for(&standby);
    primary.kill9();
    standby.promote();
    let mut careful = standby.connect_as(database.name(), "careful");
    run(&mut careful, "SET shardid.max_wait = 0");
    // Ten seconds, the default, may have been given out.
    let now: i64 =
        one(&mut careful, "SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint");
    expect_error(&mut careful, "SELECT next_id(5)", "55000");
    let horizon: i64 = one(&mut careful, "SELECT last_value FROM shardid.horizon");
    assert!(horizon >= now + 10_000_000, "{horizon} at {now}");
}

/// The copy's pages were written on the new timeline, and were taken for pages of it.
#[test]
fn a_copy_that_takes_the_place_of_a_promoted_database_repeats_nothing() {
    for strategy in ["wal_log", "file_copy"] {
        let primary = builder().start();
        let database = estate(&primary);
        let standby = builder().name("standby").start_standby_of(&primary);
        let mut accounts = accounts();
        take(&mut accounts, &database, "before the standby was cut off", AHEAD / 2);
        primary.wait_for(&standby);
        standby.stop();
        take(&mut accounts, &database, "after it was cut off", AHEAD / 2);
        primary.kill9();
        standby.start();
        standby.promote();
        let name = database.name();
        for sql in [
            format!("CREATE DATABASE copy TEMPLATE {name} STRATEGY {strategy}"),
            format!("DROP DATABASE {name}"),
            format!("ALTER DATABASE copy RENAME TO {name}"),
        ] {
            standby.psql("postgres", &sql);
        }
        goes_on(accounts, &standby, &database);
    }
}

/// What the standby had not got held the shard itself: made again, it began at the clock, and
/// 832,129 of 4,000,000 ids came again.
#[test]
fn a_shard_that_was_lost_with_the_last_records_is_made_again_above_its_ids() {
    let primary = builder().start();
    let database = Database::on(&primary);
    database.psql(COARSE);
    let standby = builder().name("standby").start_standby_of(&primary);
    primary.wait_for(&standby);
    standby.stop();
    database.psql(&format!("{}; {}", GENERATORS[0].make(), GENERATORS[1].make()));
    let mut accounts = accounts();
    take(&mut accounts, &database, "before the primary was lost", AHEAD);
    primary.kill9();
    standby.start();
    standby.promote();
    let mut client = standby.connect(database.name());
    run(&mut client, &format!("{}; {}", GENERATORS[0].make(), GENERATORS[1].make()));
    goes_on(accounts, &standby, &database);
}

/// `SET shardid.max_drift = '1d'` once, without any drift, had all shards be a day ahead after
/// the next promotion, and refused for as long.
#[test]
fn a_drift_that_was_allowed_and_never_used_refuses_nothing_after_a_promotion() {
    let primary = Server::builder().fsync(false).start();
    let database = Database::on(&primary);
    database.psql("SELECT create_shard(5)");
    let mut client = database.connect();
    run(&mut client, "SET shardid.max_drift = '1d'; SELECT next_id(5)");
    let standby = Server::builder().fsync(false).name("standby").start_standby_of(&primary);
    primary.wait_for(&standby);
    primary.kill9();
    standby.promote();
    run(&mut standby.connect(database.name()), "SELECT next_id(5)");
}

/// After a promotion the first id of each shard is some ticks beyond the horizon, and so further ahead than what
/// was noted. A session that may go two hours ahead noted these two hours, and the next promotion refused for as long.
#[test]
fn the_first_id_after_a_promotion_says_nothing_of_how_far_its_session_may_go() {
    let (second, database) =
        promoted("SELECT create_shard(5), create_shard(6), next_id(5), next_id(6)");
    let mut client = second.connect(&database);
    run(&mut client, "SET shardid.max_drift = '2h'; SELECT next_id(5), next_id(6)");
    let noted: i64 = one(&mut client, "SELECT last_value FROM shardid.largest_drift");
    assert_eq!(noted, 10_000);
    let third = Server::builder().fsync(false).name("third").start_standby_of(&second);
    second.wait_for(&third);
    second.kill9();
    third.promote();
    run(&mut third.connect(&database), "SELECT next_id(5), next_id(6)");
}

/// Where its tick is too long to be waited for, it is noted how far that session may go, not how far it went: what it gives
/// next may be lost with the last records.
#[test]
fn what_is_noted_covers_what_its_session_may_give_next() {
    let (second, database) = promoted(
        "SELECT create_layout('long', '2020-01-01Z', '12 s', 16, 4096), create_shard(3, layout => 'long'), next_id(3)",
    );
    let mut client = second.connect(&database);
    run(&mut client, "SET shardid.max_drift = '2h'");
    let drift: f64 = one(
        &mut client,
        "SELECT extract(epoch FROM id_time(next_id(3), 'long') - clock_timestamp())::float8",
    );
    let noted: i64 = one(&mut client, "SELECT last_value FROM shardid.largest_drift");
    assert!(drift <= 10.0 || noted == 7_200_000, "{drift} s ahead, {noted} ms noted");
}

/// A server that took over from another, where this was done, and the database.
fn promoted(sql: &str) -> (Server, String) {
    let primary = Server::builder().fsync(false).start();
    let database = Database::on(&primary);
    database.psql(sql);
    let second = Server::builder().fsync(false).name("second").start_standby_of(&primary);
    primary.wait_for(&second);
    primary.kill9();
    second.promote();
    (second, database.name().to_owned())
}
