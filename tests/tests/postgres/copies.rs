//! A database that is copied or moved within its server brings the pages of its sequences
//! along: what they promise was logged for other files.

use shardid_tests::Database;

use crate::account::{
    AHEAD, Account, COARSE, Generator, assert_ahead, assert_none_twice, builder, ids_of,
};
use crate::ask::run;

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
