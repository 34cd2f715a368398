//! pg_upgrade to a later version, with a shard that is ahead of the clock. Skipped where
//! `SHARDID_PG_CONFIG_LATER` names no later PostgreSQL.

use std::fs;

use shardid_tests::{Database, Installation, Server};

use crate::account::{
    AHEAD, Account, COARSE, DRIFT, Generator, assert_ahead, assert_none_twice, builder, ids_of,
};
use crate::ask::run;
use crate::restores;

const GENERATORS: [Generator; 4] =
    [Generator::Shard(5), Generator::Sequence(6), Generator::Shard(7), Generator::Shard(8)];

/// What is done to each before the upgrade: the last two have a page that says little.
const BEFORE: [&str; 4] = [
    "",
    "",
    "SELECT setval('@', seqmin) FROM pg_sequence WHERE seqrelid = '@'::regclass",
    "ALTER SEQUENCE @ RESTART",
];

/// Debian's 15.20 has an option of its own on columns, which no later version restores.
const FORGET_COLUMN_VERSIONS: &str =
    "UPDATE pg_attribute SET attoptions = NULL WHERE attoptions::text LIKE '%pg_attver=%'";

/// Upgrades a stopped server into a new one of the later version, which is stopped too.
#[track_caller]
fn upgrade(old: &Server, new: &Server, later: &'static Installation, arguments: &[&str]) {
    let output = later
        .server("pg_upgrade")
        .args(["--username=postgres", "--old-bindir"])
        .arg(Installation::get().program(""))
        .arg("--old-datadir")
        .arg(old.data())
        .arg("--new-bindir")
        .arg(later.program(""))
        .arg("--new-datadir")
        .arg(new.data())
        .arg("--socketdir")
        .arg(new.folder())
        .args(arguments)
        .current_dir(new.folder())
        .output()
        .expect("pg_upgrade can be run");
    assert!(
        output.status.success(),
        "{arguments:?}: {}{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        last_words(&output.stdout)
    );
}

/// The errors in the log that pg_upgrade names when it fails.
fn last_words(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let log = said.split('"').find(|word| word.ends_with(".log")).unwrap_or_default();
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.contains("rror")).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_upgraded_server_repeats_nothing_of_what_was_given_before_also_after_a_crash() {
    let Some(later) = Installation::later() else {
        eprintln!("skipped: SHARDID_PG_CONFIG_LATER names no later PostgreSQL");
        return;
    };
    let mut ways: Vec<&[&str]> = vec![&["--copy"], &["--link"]];
    if later.major() >= 18 {
        // Takes the files of sequences along, where the others take their values.
        ways.push(&["--swap"]);
    }
    let mut all = Vec::new();
    for way in ways {
        let old = builder().name("old").start();
        let database = Database::on(&old);
        database.psql(COARSE);
        let mut client = database.connect();
        let mut accounts = Vec::new();
        for (generator, before) in GENERATORS.into_iter().zip(BEFORE) {
            let mut account = Account::new(format!("{way:?}, {before}, {generator:?}"));
            run(&mut client, &generator.make());
            account.take("before", &mut client, &generator.take(ids_of(AHEAD)));
            run(&mut client, &before.replace('@', &generator.name()));
            accounts.push((generator, account));
        }
        run(&mut client, FORGET_COLUMN_VERSIONS);
        drop(client);
        old.stop();
        let new = builder().name("new").installation(later).start();
        new.stop();
        upgrade(&old, &new, later, way);
        new.start();
        for occasion in ["upgraded", "after a crash"] {
            for (generator, account) in &mut accounts {
                let mut client = new.connect(database.name());
                run(&mut client, &format!("SET shardid.max_drift = '{}s'", 3 * DRIFT));
                // A restart begins where the drift ends.
                account.take_unless_ahead(occasion, &mut client, &generator.take(8));
                assert_ahead(&mut client, account.highest(), "coarse");
            }
            new.kill9();
            new.start();
        }
        for (generator, account) in &mut accounts {
            let mut client = new.connect(database.name());
            run(&mut client, "SET shardid.max_drift = '1d'");
            account.take("in the end", &mut client, &generator.take(ids_of(AHEAD)));
        }
        all.extend(accounts.into_iter().map(|(_, account)| account));
    }
    assert_none_twice(&all);
}

/// Its horizon comes with the upgrade, and is of a timeline and a server that are no more. To a
/// later version where there is one, else to the same.
#[test]
fn a_server_that_was_promoted_and_upgraded_repeats_nothing_of_what_the_lost_one_gave() {
    let to = Installation::later().unwrap_or(Installation::get());
    let primary = builder().start();
    let database = restores::estate(&primary);
    let standby = builder().name("standby").start_standby_of(&primary);
    let mut accounts = restores::accounts();
    restores::take(&mut accounts, &database, "before the standby was cut off", AHEAD / 2);
    primary.wait_for(&standby);
    standby.stop();
    restores::take(&mut accounts, &database, "after it was cut off", AHEAD / 2);
    primary.kill9();
    standby.start();
    standby.promote();
    // Not an id before the upgrade.
    standby.psql(database.name(), FORGET_COLUMN_VERSIONS);
    standby.stop();
    let new = builder().name("new").installation(to).start();
    new.stop();
    upgrade(&standby, &new, to, &[]);
    new.start();
    restores::goes_on(accounts, &new, &database);
}
