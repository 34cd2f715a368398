//! A database that is copied or moved within its server brings the pages of its sequences
//! along: what they promise was logged for other files.

use std::time::Duration;

use shardid_tests::{Database, Server, crowded};

use crate::account::{
    AHEAD, Account, COARSE, Generator, assert_ahead, assert_none_twice, builder, ids_of,
};
use crate::ask::{one, run};

const DURABILITY: &str = include_str!("../../../docs/durability.md");

const GENERATORS: [Generator; 2] = [Generator::Shard(5), Generator::Sequence(6)];

/// A shard ahead; CREATE DATABASE … TEMPLATE; 200,000 ids in the copy, kill -9, and the same
/// 200,000 again.
#[test]
fn a_copied_or_moved_database_repeats_nothing_of_its_own_after_a_crash() {
    let server =
        builder().conf("shardid.max_drift = '1d'").conf("allow_in_place_tablespaces = on").start();
    let original = Database::on(&server);
    original.psql(&format!("{COARSE}; {}; {}", GENERATORS[0].make(), GENERATORS[1].make()));
    server.psql("postgres", "CREATE TABLESPACE elsewhere LOCATION ''");
    let mut client = original.connect();
    for generator in GENERATORS {
        run(&mut client, &generator.take(ids_of(AHEAD)));
    }
    drop(client);
    let name = original.name();
    // A copy of files ends with a checkpoint, after which all is logged again: the copies by
    // WAL come after them.
    let ways = [
        ("by_file", format!("CREATE DATABASE by_file TEMPLATE {name} STRATEGY file_copy")),
        (
            "moved",
            format!(
                "CREATE DATABASE moved TEMPLATE {name} STRATEGY wal_log; \
                 ALTER DATABASE moved SET TABLESPACE elsewhere"
            ),
        ),
        ("by_log", format!("CREATE DATABASE by_log TEMPLATE {name} STRATEGY wal_log")),
        ("of_a_copy", "CREATE DATABASE of_a_copy TEMPLATE by_log STRATEGY wal_log".to_owned()),
        (
            "in_another_place",
            format!(
                "CREATE DATABASE in_another_place TEMPLATE {name} STRATEGY wal_log TABLESPACE elsewhere"
            ),
        ),
    ];
    let mut accounts = Vec::new();
    for (copy, way) in &ways {
        server.psql("postgres", way);
        for generator in GENERATORS {
            let account = Account::new(format!("{way}, {generator:?}"));
            accounts.push((*copy, generator, account));
        }
    }
    for (copy, generator, account) in &mut accounts {
        for occasion in ["before the crash", "before the crash, elsewhere"] {
            account.take(occasion, &mut server.connect(copy), &generator.take(8));
        }
    }
    server.kill9();
    server.start();
    for (copy, generator, account) in &mut accounts {
        let mut client = server.connect(copy);
        // After a crash a shard goes on from its lease, which may reach to where the drift ends.
        run(&mut client, "SET shardid.max_drift = '1d'");
        account.take("after the crash", &mut client, &generator.take(8));
        assert_ahead(&mut client, account.highest(), "coarse");
        account.take("in the end", &mut client, &generator.take(ids_of(AHEAD)));
    }
    assert_none_twice(accounts.iter().map(|(_, _, account)| account));
}

/// A copy went on where its own was in the tick, a little further, and not where the clock is: with ticks of a minute
/// 126,177 of 160,000 ids came again, also after the original had not been ahead for a long time.
#[test]
fn a_copy_that_takes_the_originals_place_goes_on_above_its_share_of_a_long_tick() {
    let server = Server::builder().fsync(false).start();
    let original = Database::on(&server);
    let long = "SELECT create_layout('long', date_trunc('second', now()) - interval '2 s', '15 s', 16, 25000)";
    original.psql(&format!("{long}; SELECT create_shard(4, layout => 'long')"));
    original
        .psql("SELECT create_id_sequence('q', 5, 'long'); SELECT next_id(4), next_id_from('q')");
    let name = original.name().to_owned();
    server.psql("postgres", &format!("CREATE DATABASE its_copy TEMPLATE {name}"));
    let generators = ["next_id(4)", "next_id_from('q')"];
    let mut accounts = Vec::new();
    let mut client = original.connect();
    for generator in generators {
        let mut account = Account::new(generator.to_owned());
        let take = format!("SELECT {generator} FROM generate_series(1, 10000)");
        account.take("original", &mut client, &take);
        accounts.push(account);
    }
    // As the page says; the horizon alone had been passed by then.
    let begin = DURABILITY.find("SELECT to_timestamp(h.last_value").expect("it says when");
    let over = DURABILITY[begin..].split('`').next().expect("it has an end");
    let waited = std::time::Instant::now();
    while !one::<bool>(&mut client, over) {
        assert!(waited.elapsed() < crowded(Duration::from_secs(30)), "it stays ahead");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(waited.elapsed() > Duration::from_secs(3), "it was not ahead");
    drop(client);
    server.psql("postgres", &format!("DROP DATABASE {name}"));
    server.psql("postgres", &format!("ALTER DATABASE its_copy RENAME TO {name}"));
    let mut client = server.connect(&name);
    for (generator, account) in generators.iter().zip(&mut accounts) {
        account.take(
            "copy",
            &mut client,
            &format!("SELECT {generator} FROM generate_series(1, 2000)"),
        );
    }
    assert_none_twice(&accounts);
}
