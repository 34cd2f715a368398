//! A dump carries shards, layouts and states, and a database made from it goes
//! on above the old ids without any setting.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;

use shardid_tests::{Database, Server, expect_error};

use crate::ask::{ids, one, run, run_ahead, run_sequence_ahead};

/// Runs a program to its end and returns what it wrote.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().expect("it can be run");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a dump is text")
}

/// All that a user knows of shards, as text: what a dump must bring along.
const ESTATE: &str = "SELECT 's', * FROM shardid.shard ORDER BY shard; SELECT 'v', shard, schema, sequence, layout, state, last_id FROM shardid.shards ORDER BY 2; \
     SELECT 'l', * FROM shardid.layout ORDER BY name; SELECT 'i', * FROM shardid.id_sequence ORDER BY sequence::text; SELECT 'd', * FROM shardid.dropped_id_sequence; SELECT 'c', * FROM shardid.cluster; \
     SELECT 't', count(*), sum(a), sum(b) FROM t";

/// A database with everything that a dump may have to carry, ahead of the clock.
struct Estate {
    database: Database<'static>,
    /// The last ids of shards 5 and 6, of the id sequence, and of shard 9 that was dropped.
    last: [i64; 4],
}

impl Estate {
    fn new() -> Self {
        let database = Database::fresh();
        let mut client = database.connect();
        run(
            &mut client,
            "SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000); \
             SELECT create_shard(5), create_shard(6, 'Ödd \"schema', 'mine'), create_shard(7), create_shard(9); \
             SELECT create_id_sequence('photo_id', 5); \
             CREATE TABLE t (a bigint PRIMARY KEY DEFAULT next_id(5), b bigint DEFAULT next_id_from('photo_id'), c bigint DEFAULT shard_0005.next_id()); \
             INSERT INTO t SELECT FROM generate_series(1, 1000); \
             UPDATE shardid.shard SET state = 'fenced' WHERE shard = 7; \
             INSERT INTO shardid.shard (shard, layout, state, node, map_version) VALUES (8, 'instagram', 'moved', 'pg2', 3)",
        );
        let dropped = run_ahead(&mut client, 9);
        run(&mut client, "SELECT drop_shard(9)");
        let last = [
            run_ahead(&mut client, 5),
            run_ahead(&mut client, 6),
            run_sequence_ahead(&mut client, "photo_id"),
            dropped,
        ];
        Self { database, last }
    }

    fn dump(&self, arguments: &[&str]) -> String {
        output(self.database.command("pg_dump").args(arguments))
    }

    /// Asserts that a copy is what the original was, and goes on above it.
    #[track_caller]
    fn goes_on_in(&self, copy: &Database<'_>) {
        assert_eq!(copy.psql(ESTATE), self.database.psql(ESTATE));
        let mut client = copy.connect();
        run(&mut client, "SELECT create_shard(9, 'again')");
        for (sql, last) in ["next_id(5)", "next_id(6)", "next_id_from('photo_id')", "next_id(9)"]
            .iter()
            .zip(self.last)
        {
            let next = ids(&mut client, &format!("SELECT {sql}"))[0];
            assert!(next > last, "{sql} gives {next} after {last}");
        }
        run(&mut client, "INSERT INTO t SELECT FROM generate_series(1, 100)");
        expect_error(&mut client, "SELECT next_id(7)", "SI002");
        expect_error(&mut client, "SELECT next_id(8)", "SI001");
        run(
            &mut client,
            "UPDATE shardid.shard SET state = 'open' WHERE shard = 7; SELECT next_id(7)",
        );
    }
}

#[test]
fn a_plain_dump_restores_into_another_server_and_goes_on_above() {
    let estate = Estate::new();
    let server = Server::builder().name("another server").fsync(false).start();
    let copy = Database::plain_on(&server);
    copy.psql(&estate.dump(&[]));
    estate.goes_on_in(&copy);
}

#[test]
fn a_custom_dump_restores_in_parallel_into_another_database_and_onto_itself() {
    let estate = Estate::new();
    let file = tempfile();
    estate.dump(&["-Fc", "-f", &file]);
    let copy = Database::fresh_plain();
    output(copy.command("pg_restore").args([
        "--exit-on-error",
        "-j",
        "2",
        "-d",
        copy.name(),
        &file,
    ]));
    estate.goes_on_in(&copy);
    // Over what is there and has gone on; what the dump does not know would be in its way.
    copy.psql("SELECT drop_shard(9); DROP SCHEMA again");
    output(copy.command("pg_restore").args([
        "--exit-on-error",
        "--clean",
        "--if-exists",
        "-d",
        copy.name(),
        &file,
    ]));
    estate.goes_on_in(&copy);
    // Schema first and data later, as tools that move databases do.
    let copy = Database::fresh_plain();
    for section in ["pre-data", "data", "post-data"] {
        let section = format!("--section={section}");
        output(copy.command("pg_restore").args([
            "--exit-on-error",
            &section,
            "-d",
            copy.name(),
            &file,
        ]));
    }
    estate.goes_on_in(&copy);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_schema_without_data_takes_its_shards_up_again_above_the_old_ids() {
    let estate = Estate::new();
    let copy = Database::fresh_plain();
    copy.psql(&estate.dump(&["--schema-only", "--clean", "--if-exists"]));
    let mut client = copy.connect();
    let refusal = expect_error(&mut client, "SELECT next_id(5)", "42704");
    assert!(refusal.hint.contains("create_shard(5)"), "{refusal:?}");
    run(&mut client, "SELECT create_shard(5); SELECT create_id_sequence('photo_id', 5)");
    // Nothing tells where the old sequences stood, so they begin ahead of the clock.
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > estate.last[0]);
    assert!(ids(&mut client, "SELECT next_id_from('photo_id')")[0] > estate.last[2]);
    assert!(ids(&mut client, "INSERT INTO t DEFAULT VALUES RETURNING a")[0] > estate.last[0]);
}

/// The row that came with the extension was in the way, and nothing was restored.
#[test]
fn a_schema_and_its_data_are_restored_one_after_the_other_with_the_triggers_off() {
    let estate = Estate::new();
    estate.database.psql(
        "INSERT INTO shardid.server (mark) VALUES ('m'); SELECT create_ticket('photos'), next_ticket('photos')",
    );
    let file = tempfile();
    estate.dump(&["-Fc", "-f", &file]);
    for single in [&[][..], &["-1"]] {
        let copy = Database::fresh_plain();
        let restore = |part: &[&str]| {
            let mut command = copy.command("pg_restore");
            output(command.arg("--exit-on-error").args(part).args(single).args([
                "-d",
                copy.name(),
                &file,
            ]));
        };
        restore(&["-s"]);
        restore(&["-a", "--disable-triggers"]);
        estate.goes_on_in(&copy);
        assert_eq!(copy.psql("SELECT mark, next_ticket('photos') FROM shardid.server"), "m|2");
    }
    std::fs::remove_file(file).unwrap();
}

/// Two rows that name what is not there were one key, and no row was restored.
#[test]
fn a_dump_without_some_id_sequences_is_restored_with_the_triggers_off() {
    let database = Database::fresh();
    database.psql(
        "SELECT create_shard(5); CREATE SCHEMA apart; \
         SELECT create_id_sequence('public.kept', 5), create_id_sequence('apart.a', 5), create_id_sequence('apart.b', 5)",
    );
    let file = tempfile();
    let mut dump = database.command("pg_dump");
    output(dump.args(["-Fc", "-N", "apart", "-f", &file, database.name()]));
    let copy = Database::fresh_plain();
    for part in [&["-s"][..], &["-a", "--disable-triggers"]] {
        let mut restore = copy.command("pg_restore");
        output(restore.args(["--exit-on-error", "-d", copy.name()]).args(part).arg(&file));
    }
    std::fs::remove_file(file).unwrap();
    assert_eq!(copy.psql("SELECT sequence, shard FROM shardid.id_sequence"), "kept|5");
    assert_eq!(copy.psql("SELECT shard, lost FROM shardid.dropped_id_sequence"), "5|t");
    run(&mut copy.connect(), "SELECT next_id_from('kept'), next_id(5)");
}

/// One row that names what is not there, and no row was restored.
#[test]
fn a_dump_without_the_schema_of_a_shard_restores_all_others() {
    let estate = Estate::new();
    let dump = estate.dump(&["-N", "shard_0005", "-T", "t", "-T", "photo_id"]);
    let copy = Database::fresh_plain();
    copy.psql(&dump);
    assert_eq!(
        copy.psql(
            "SELECT shard, sequence IS NULL FROM shardid.shard WHERE state <> 'dropped' ORDER BY 1"
        ),
        "5|t\n6|f\n7|f\n8|t"
    );
    assert_eq!(copy.psql("SELECT count(*) FROM shardid.id_sequence"), "0");
    let mut client = copy.connect();
    assert!(ids(&mut client, "SELECT next_id(6)")[0] > estate.last[1]);
    let refusal = expect_error(&mut client, "SELECT next_id(5)", "42704");
    assert!(refusal.hint.contains("create_shard(5)"), "{refusal:?}");
    run(&mut client, "SELECT create_shard(5)");
    run(&mut client, "SELECT next_id(5)");
    // Anything else is no name, and no sequence.
    expect_error(&mut client, "SELECT 'a.b.c.d'::shardid.regsequence", "42601");
    assert_eq!(copy.psql("SELECT 'no.such'::shardid.regsequence, '-'::shardid.regsequence"), "-|-");
}

/// What was put back, or is not in the dump, does not say how far its ids went.
#[test]
fn a_dump_without_what_a_shard_knew_goes_on_above_its_rows() {
    for (before, options) in [
        ("ALTER SEQUENCE shard_0005.shard_id_seq RESTART", &[][..]),
        ("SELECT setval('shard_0005.shard_id_seq', min(id)) FROM photos", &[]),
        // Schema first and data later; then with the triggers off.
        ("ALTER SEQUENCE shard_0005.shard_id_seq RESTART", &["-Fc"]),
        ("ALTER SEQUENCE shard_0005.shard_id_seq RESTART", &["-Fc", "-Z1"]),
        ("DROP SCHEMA shard_0005 CASCADE", &[]),
        ("SELECT", &["-N", "shard_0005"]),
        // Of a cluster: refused until it is adopted.
        (
            "ALTER SEQUENCE shard_0005.shard_id_seq RESTART; \
             UPDATE shardid.shard SET cluster = 'c', system_identifier = 1, database = 'there'",
            &[],
        ),
    ] {
        let database = Database::fresh();
        let mut client = database.connect();
        run(
            &mut client,
            "SELECT create_shard(5); CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5)); \
             INSERT INTO photos DEFAULT VALUES",
        );
        run_ahead(&mut client, 5);
        run(&mut client, "INSERT INTO photos DEFAULT VALUES");
        run(&mut client, before);
        let file = tempfile();
        let mut command = database.command("pg_dump");
        output(command.args(options).args(["-f", &file, database.name()]));
        let ahead: bool = one(
            &mut client,
            "SELECT id_time(max(id)) > clock_timestamp() + interval '1 s' FROM photos",
        );
        assert!(ahead, "not ahead of the clock: the test would prove nothing");
        let copy = Database::fresh_plain();
        if options.starts_with(&["-Fc"]) {
            let restore = |part: &[&str]| {
                let mut command = copy.command("pg_restore");
                output(command.args(part).args(["-d", copy.name(), &file]));
            };
            restore(&["-s"]);
            restore(if options.len() > 1 { &["-a", "--disable-triggers"] } else { &["-a"] });
        } else {
            output(copy.command("psql").args(["-q", "-f", &file, copy.name()]));
        }
        std::fs::remove_file(file).unwrap();
        let mut client = copy.connect();
        let last: i64 = one(&mut client, "SELECT max(id) FROM photos");
        if before.contains("cluster") {
            expect_error(&mut client, "SELECT next_id(5)", "SI003");
            run(&mut client, "SELECT adopt_shard(5)");
        } else {
            run(&mut client, "SELECT create_shard(5, if_not_exists => true)");
        }
        let next: i64 = one(&mut client, "SELECT next_id(5)");
        assert!(next > last, "{before}, {options:?}: {next} after {last}");
    }
}

/// It was made again without its cluster, and the copy and the original gave the same ids.
#[test]
fn a_shard_of_a_cluster_that_is_not_in_the_dump_is_made_again_only_once_it_is_adopted() {
    let database = Database::fresh();
    database.psql(
        "SELECT create_shard(5), create_shard(6); \
         SELECT shardid.place_shards('c', 'n1', 'instagram', 8, 1, '{5,6}', '{n1,n1}')",
    );
    let mut dump = database.command("pg_dump");
    let dump = output(dump.args(["-N", "shard_0005", database.name()]));
    let copy = Database::fresh_plain();
    copy.psql(&dump);
    let mut client = copy.connect();
    for sql in ["SELECT create_shard(5)", "CALL shardid.create_shards(5, 5)"] {
        let refusal = expect_error(&mut client, sql, "SI003");
        assert!(refusal.hint.contains("SELECT adopt_shard(5);"), "{refusal:?}");
    }
    run(&mut client, "SELECT adopt_shard(5)");
    run(&mut client, "SELECT create_shard(5)");
    run(&mut client, "SELECT next_id(5)");
    // It belongs to the cluster still, and so does one that was lost where it lives.
    database.psql("DROP SCHEMA shard_0005 CASCADE; SELECT create_shard(5)");
    for database in [&copy, &database] {
        let row = "SELECT cluster, node, map_version, database = current_database() FROM shardid.shard WHERE shard = 5";
        assert_eq!(database.psql(row), "c|n1|1|t");
    }
}

#[test]
fn a_database_owner_who_is_no_superuser_dumps_and_restores() {
    let (from, to) = (Database::fresh_plain(), Database::fresh_plain());
    let owner = from.role("owner");
    for database in [&from, &to] {
        let name = database.name();
        database.psql(&format!(
            "ALTER DATABASE {name} OWNER TO {owner}; ALTER SCHEMA public OWNER TO {owner}"
        ));
    }
    let mut client = from.connect_as(&owner);
    run(
        &mut client,
        "CREATE EXTENSION shardid; SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000); \
         SELECT create_shard(5), create_shard(6, layout => 'mine'); CREATE TABLE t (id bigint DEFAULT next_id(5)); \
         INSERT INTO t SELECT FROM generate_series(1, 1000)",
    );
    let last = run_ahead(&mut client, 5);
    let dump = output(from.command("pg_dump").env("PGUSER", &owner));
    let file = tempfile();
    std::fs::write(&file, dump).unwrap();
    output(to.command("psql").env("PGUSER", &owner).args([
        "-Xq",
        "-v",
        "ON_ERROR_STOP=1",
        "-f",
        &file,
    ]));
    std::fs::remove_file(file).unwrap();
    let mut client = to.connect_as(&owner);
    assert!(ids(&mut client, "INSERT INTO t DEFAULT VALUES RETURNING id")[0] > last);
    run(&mut client, "SELECT next_id(6); SELECT drop_shard(6); SELECT create_shard(7)");
}

#[test]
fn a_dump_under_load_is_above_every_row_in_it() {
    let database = Database::fresh();
    database.psql(
        "SELECT create_shard(5); CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5), n int); INSERT INTO t (n) VALUES (0)",
    );
    let load = |session: i32| {
        let mut client = database.connect();
        for _ in 0..60 {
            run(
                &mut client,
                &format!("INSERT INTO t (n) SELECT {session} FROM generate_series(1, 500)"),
            );
        }
    };
    thread::scope(|scope| {
        let writers = [0, 1, 2].map(|session| scope.spawn(move || load(session)));
        let mut under_load = 0;
        while under_load == 0 || writers.iter().any(|writer| !writer.is_finished()) {
            let dump = output(&mut database.command("pg_dump"));
            let copy = Database::fresh_plain();
            copy.psql(&dump);
            assert_eq!(copy.psql("SELECT next_id(5) > max(id) FROM t"), "t");
            under_load += 1;
        }
    });
}

#[test]
fn the_data_of_a_dump_restored_where_ids_went_on_and_a_crash_repeat_nothing() {
    let server = Server::builder().conf("shardid.max_drift = '1min'").start();
    let database = Database::on(&server);
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(5); CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5)); \
         INSERT INTO t SELECT FROM generate_series(1, 10)",
    );
    let file = tempfile();
    output(database.command("pg_dump").args(["-Fc", "-f", &file]));
    run_ahead(&mut client, 5);
    let taken = ids(&mut client, "SELECT next_ids(5, 100000)");
    for way in [&["-a"][..], &["-a", "-n", "shard_0005"]] {
        // Rows are there already, and shards give way to those that are; sequences are set back all the same.
        let restored = database
            .command("pg_restore")
            .args(way)
            .args(["-d", database.name(), &file])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&restored.stderr);
        assert_eq!(said.contains("duplicate key"), way.len() == 1, "{said}");
        let last: i64 = one(&mut client, "SELECT last_value FROM shard_0005.shard_id_seq");
        assert!(last < taken[0], "the sequence was not set back");
        server.kill9();
        server.start();
        client = database.connect();
        let next: i64 = one(&mut client, "SELECT next_id(5)");
        assert!(next > *taken.last().unwrap(), "{next} after {way:?}");
        let again = ids(&mut client, "SELECT next_ids(5, 1000)");
        assert!(again[0] > next);
    }
    std::fs::remove_file(file).unwrap();
}

/// The commonest restore: the database is dropped, and the dump of last night put back.
#[test]
fn tickets_and_segments_of_a_dump_that_is_put_back_can_be_known_and_mended() {
    let forgotten = "SELECT (SELECT count(*) FROM shardid.ticket WHERE history <> shardid.history()) \
        + (SELECT count(*) FROM shardid.segment WHERE history <> shardid.history())";
    let database = Database::fresh();
    database.psql(
        "SELECT create_ticket('photos'), create_segment('orders', 10), create_ticket('unused')",
    );
    assert_eq!(database.psql(forgotten), "0");
    database.psql("SELECT next_ticket('photos'), next_segment('orders')");
    let file = tempfile();
    output(database.command("pg_dump").args(["-Fc", "-f", &file, database.name()]));
    database.psql("SELECT next_ticket('photos'), next_segment('orders')");
    // Into the same database, and into one that is new.
    let copy = Database::fresh_plain();
    for (to, clean) in [(&copy, None), (&database, Some(["--clean", "--if-exists"]))] {
        let arguments =
            clean.into_iter().flatten().chain(["--exit-on-error", "-d", to.name(), &file]);
        output(to.command("pg_restore").args(arguments));
        assert_eq!(to.psql(forgotten), "3", "{}", to.name());
        to.psql("SELECT shardid.raise_ticket(name, 100) FROM shardid.ticket; SELECT shardid.raise_segment('orders', 100)");
        assert_eq!(to.psql(forgotten), "0");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn databases_of_one_server_keep_apart() {
    let one_of_two = Database::fresh();
    one_of_two.psql("SELECT create_shard(5), create_shard(6), next_id(5)");
    // A copy by files, where even the oids are the same.
    let other = Database::fresh_plain();
    let server = other.server();
    let (name, template) = (other.name(), one_of_two.name());
    server.psql("postgres", &format!("DROP DATABASE {name}"));
    server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template}"));
    let (mut a, mut b) = (one_of_two.connect(), other.connect());
    let oid = "SELECT 'shard_0005.shard_id_seq'::regclass::oid";
    assert_eq!(one::<u32>(&mut a, oid), one::<u32>(&mut b, oid));
    run(&mut b, "SELECT next_id(5), next_id(6)");
    let ahead = run_ahead(&mut a, 5);
    assert!(ids(&mut b, "SELECT next_id(5)")[0] < ahead, "the other database went ahead as well");
    run(&mut a, "UPDATE shardid.shard SET state = 'fenced' WHERE shard = 6");
    expect_error(&mut a, "SELECT next_id(6)", "SI002");
    run(&mut b, "SELECT next_id(6)");
    run(&mut b, "SELECT drop_shard(5)");
    run(&mut a, "SELECT next_id(5)");
    expect_error(&mut b, "SELECT next_id(5)", "42704");
}

/// A name for a file that programs run as ourselves may write.
pub(crate) fn tempfile() -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    let name = format!("dump-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.join(name).display().to_string()
}

/// It was forgotten: what was made then began where a lease here may reach, which is below it.
#[test]
fn a_restored_shard_that_is_far_ahead_is_dropped_and_made_again_above_what_the_dump_shows() {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5); SELECT setval('shard_0005.shard_id_seq', id_at(now() + interval '1 hour'))");
    let highest =
        database.psql("SET shardid.max_drift = '2 h'; SELECT max(i) FROM next_ids(5, 100) AS i");
    let dump = output(database.command("pg_dump").arg(database.name()));
    let restored = Database::fresh_plain();
    restored.psql(&dump);
    restored.psql("SELECT drop_shard(5)");
    let floor = restored.psql("SELECT floor FROM shardid.shard WHERE shard = 5");
    assert!(floor.parse::<i64>().unwrap() >= highest.parse::<i64>().unwrap(), "{floor} {highest}");
    restored.psql("SELECT create_shard(5)");
    let above =
        restored.psql(&format!("SET shardid.max_drift = '2 h'; SELECT next_id(5) > {highest}"));
    assert_eq!(above, "t");
}
