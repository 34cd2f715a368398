//! setval by accident: a restore of data alone, a script that resets sequences. What was
//! given out before does not come again.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, assert_unique};

use crate::account::{
    AHEAD, Account, COARSE, Generator, assert_ahead, assert_none_twice, builder, ids_of,
};
use crate::ask::{ids, one, run};

/// What puts the sequence `@` back to a value `!` from before; `#` is its shard.
const BACK: [&str; 6] = [
    "SELECT setval('@', !)",
    "SELECT setval('@', !, false)",
    "SELECT setval('@', lowest) FROM (SELECT seqmin FROM pg_sequence WHERE seqrelid = '@'::regclass) s (lowest)",
    "SELECT setval('@', lowest, false) FROM (SELECT seqmin FROM pg_sequence WHERE seqrelid = '@'::regclass) s (lowest)",
    // What a stranger's nextval() gives is the stranger's; ours are to stay clear of old ones.
    "SELECT setval('@', !); SELECT nextval('@')",
    "BEGIN; SELECT setval('@', !); ROLLBACK",
];

/// When the crash comes.
#[derive(Debug, Clone, Copy)]
enum Crash {
    Never,
    BeforeIds,
    AfterIds,
}

struct Case {
    generator: Generator,
    back: String,
    crash: Crash,
    account: Account,
}

impl Case {
    fn take(&mut self, occasion: &str, client: &mut Client) {
        self.account.take_unless_ahead(occasion, client, &self.generator.take(8));
    }
}

/// A shard ahead of the clock; pg_restore -a or a script put its sequence back; ids came again.
#[test]
fn a_sequence_that_is_put_back_while_ahead_repeats_nothing_also_after_a_crash() {
    let server = builder().start();
    let database = Database::on(&server);
    database.psql(COARSE);
    let mut cases = Vec::new();
    for crash in [Crash::Never, Crash::BeforeIds, Crash::AfterIds] {
        for back in BACK {
            for kind in [Generator::Shard, Generator::Sequence] {
                let generator = kind(1 + i32::try_from(cases.len()).expect("there are few"));
                let account = Account::new(format!("{back}, crash {crash:?}, {generator:?}"));
                cases.push(Case { generator, back: back.to_owned(), crash, account });
            }
        }
    }
    let make: Vec<String> = cases.iter().map(|case| case.generator.make()).collect();
    database.psql(&make.join(";"));
    let (mut client, mut other) = (database.connect(), database.connect());
    for case in &mut cases {
        let name = case.generator.name();
        case.take("at first", &mut client);
        let early: i64 = one(&mut client, &format!("SELECT last_value FROM {name}"));
        case.account.take("ahead", &mut client, &case.generator.take(ids_of(AHEAD)));
        case.take("ahead, elsewhere", &mut other);
        database.psql(&case.back.replace('@', &name).replace('!', &early.to_string()));
        if !matches!(case.crash, Crash::BeforeIds) {
            case.take("put back, in a new session", &mut database.connect());
            case.take("put back, in the session", &mut client);
            case.take("put back, elsewhere", &mut other);
        }
        if matches!(case.crash, Crash::Never) {
            assert_ahead(&mut client, case.account.highest(), "coarse");
            run(&mut client, "SET shardid.max_drift = '1d'");
            case.account.take("in the end", &mut client, &case.generator.take(ids_of(AHEAD)));
            run(&mut client, "RESET shardid.max_drift");
        }
    }
    server.kill9();
    server.start();
    let (mut client, mut other) = (database.connect(), database.connect());
    // After a crash a shard goes on from its lease, which may reach to where the drift ends.
    run(&mut client, "SET shardid.max_drift = '1d'");
    run(&mut other, "SET shardid.max_drift = '1d'");
    for case in &mut cases {
        case.take("after the crash", &mut client);
        case.take("after the crash, elsewhere", &mut other);
        assert_ahead(&mut client, case.account.highest(), "coarse");
        case.account.take("in the end", &mut client, &case.generator.take(ids_of(AHEAD)));
    }
    assert_none_twice(cases.iter().map(|case| &case.account));
}

/// pg_restore -a of a dump that was made before the shard went ahead.
#[test]
fn a_dump_of_data_alone_that_is_restored_while_ahead_repeats_nothing() {
    let server = builder().start();
    let database = Database::on(&server);
    let shard = Generator::Shard(5);
    database.psql(&format!("{COARSE}; {}; SELECT next_id(5)", shard.make()));
    let dump = database.command("pg_dump").args(["-a", "-n", "shard_0005"]).output().unwrap();
    let dump = String::from_utf8_lossy(&dump.stdout).into_owned();
    assert!(dump.contains("pg_catalog.setval('shard_0005.shard_id_seq'"), "{dump}");
    let mut account = Account::new("pg_dump -a");
    account.take("ahead", &mut database.connect(), &shard.take(ids_of(AHEAD)));
    database.psql(&dump);
    account.take("restored", &mut database.connect(), &shard.take(ids_of(10)));
    database.psql(&dump);
    server.kill9();
    server.start();
    let mut client = database.connect();
    run(&mut client, "SET shardid.max_drift = '1d'");
    account.take("after the crash", &mut client, &shard.take(ids_of(AHEAD)));
    assert_none_twice([&account]);
}

/// A session stays above what it has given itself, whatever a stranger does to the sequence;
/// what next_ids() had given was not counted.
#[test]
fn a_session_that_took_many_ids_at_once_stays_above_them_when_the_sequence_is_put_back() {
    let database = Database::fresh();
    database.psql(&format!("{COARSE}; SELECT create_shard(5, layout => 'coarse')"));
    let back = "SELECT setval('shard_0005.shard_id_seq', $)";
    for (begin, end) in [("", ""), ("BEGIN", "COMMIT"), ("BEGIN", "ROLLBACK")] {
        for way in ["SELECT next_id(5)", "SELECT next_ids(5, 3)"] {
            let mut client = database.connect();
            run(&mut client, begin);
            let mut taken = ids(&mut client, "SELECT next_id(5)");
            let first = taken[0];
            taken.extend(ids(&mut client, "SELECT next_ids(5, 20)"));
            run(&mut client, &back.replace('$', &first.to_string()));
            taken.extend(ids(&mut client, way));
            run(&mut client, end);
            run(&mut client, &back.replace('$', &first.to_string()));
            taken.extend(ids(&mut client, way));
            assert_unique(&[(format!("{begin} … {end}, {way}"), taken)]);
        }
    }
}
