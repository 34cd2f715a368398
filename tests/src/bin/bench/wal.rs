//! How many records ids write into WAL.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use shardid_tests::postgres::Client;

use crate::setting::Setting;
use crate::table::{Table, Target};

/// A shard in steady use, and a million ids at once.
pub(crate) fn run(setting: &Setting, table: &mut Table) {
    let mut client = setting.connect();
    let lease: f64 = client
        .query_one(
            "SELECT extract(epoch FROM current_setting('shardid.lease')::interval)::float8",
            &[],
        )
        .expect("the setting is there")
        .get(0);

    let shard = setting.new_shard();
    let from = position(&mut client);
    let span = Duration::from_secs(setting.pick(8, 3));
    let start = Instant::now();
    let mut ids = 0;
    while start.elapsed() < span {
        // Some hundred ids a millisecond's wait: slower than the clock, as in real use.
        client
            .query(&format!("SELECT next_id({shard}) FROM generate_series(1, 200)"), &[])
            .expect("the shard is there");
        ids += 200;
        sleep(Duration::from_millis(1));
    }
    let leases = start.elapsed().as_secs_f64() / lease;
    let steady = records(setting, &mut client, &from, &sequence_of(shard));

    let calls = setting.pick(1_000_000, 300_000);
    let shard = setting.new_shard();
    let from = position(&mut client);
    count(&mut client, &format!("next_id({shard})"), calls);
    let at_once = records(setting, &mut client, &from, &sequence_of(shard));
    let from = position(&mut client);
    count(&mut client, "nextval('seq_1')", calls);
    let nextval = records(setting, &mut client, &from, "seq_1");

    table.title(format!("WAL records, with a lease of {lease} s"));
    table.figure(format!("{ids} ids in {:.1} s", span.as_secs_f64()), steady.to_string());
    table.figure(format!("{calls} ids at once, at 1024 a millisecond"), at_once.to_string());
    table.figure(format!("{calls} values of nextval, CACHE 1"), nextval.to_string());
    // The first record begins the first lease; from then on they are counted.
    let steady = (steady as f64 - 1.0).max(0.0) / leases;
    table.value("records per lease after the first", steady, 2, "", Target::AtMost(1.0));
    let span = calls as f64 / 1024.0 / 1000.0 / lease;
    let at_once = (at_once as f64 - 1.0).max(0.0) / span.ceil();
    table.value("the same, ids at once", at_once, 2, "", Target::AtMost(1.0));
}

fn sequence_of(shard: i32) -> String {
    format!("shard_{shard:04}.shard_id_seq")
}

fn count(client: &mut Client, expression: &str, calls: i32) {
    client
        .query_one(&format!("SELECT count({expression}) FROM generate_series(1, {calls})"), &[])
        .expect("it counts");
}

fn position(client: &mut Client) -> String {
    client.query_one("SELECT pg_current_wal_insert_lsn()::text", &[]).expect("a position").get(0)
}

/// Counts the records of a sequence since a position, with pg_waldump.
fn records(setting: &Setting, client: &mut Client, from: &str, sequence: &str) -> usize {
    let to = position(client);
    // Flushes all of it, and touches none of what is counted.
    client.batch_execute("CHECKPOINT").expect("we are superuser");
    let file: String = client
        .query_one(
            "SELECT format('rel %s/%s/%s,', t.oid, d.oid, pg_relation_filenode($1::text::regclass))
             FROM pg_database d, pg_tablespace t
             WHERE d.datname = current_database() AND t.spcname = 'pg_default'",
            &[&sequence],
        )
        .expect("the sequence is there")
        .get(0);
    let program = setting.server().command("pg_waldump");
    let output = Command::new(program.get_program())
        .arg("--path")
        .arg(setting.server().data().join("pg_wal"))
        .args(["--rmgr=Sequence", "--start", from, "--end", &to])
        .output()
        .expect("pg_waldump can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(&file)).count()
}
