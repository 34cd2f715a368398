//! A shard that its node has lost, or knows nothing of any more, is brought back, and closed where it
//! is old.

use std::process::Stdio;
use std::time::Duration;

use shardid_tests::estate::Estate;
use shardid_tests::wait_until;

use crate::catalog::{back_up, is_as_the_file_says, lose, restore, shard_on_pg1};

/// What a standby that was promoted without the end of a move knows of it: it has not come yet.
fn forget_the_end_of_a_move(estate: &Estate, node: &str, shard: u32, from: &str) {
    estate.psql(
        node,
        &format!(
            "DROP SCHEMA shard_{shard:04} CASCADE; \
             UPDATE shardid.shard SET state = 'moved', node = '{from}', sequence = NULL WHERE shard = {shard}; \
             UPDATE shardid.cluster SET map_version = 1"
        ),
    );
}

/// As docs/cluster.md has it.
fn bring_back(estate: &Estate, shard: u32, from: &str, to: &str) {
    let schema = format!("shard_{shard:04}");
    let mut dump = estate
        .node(from)
        .command("pg_dump")
        .args(["--dbname=app", "--schema", &schema])
        .stdout(Stdio::piped())
        .spawn()
        .expect("pg_dump runs");
    let restored = estate
        .node(to)
        .command("psql")
        .args(["-Xq", "-d", "app"])
        .stdin(dump.stdout.take().expect("its output is a pipe"))
        .status();
    assert!(dump.wait().unwrap().success() && restored.unwrap().success());
    take_up(estate, shard, from, to);
}

/// From there on, with the rows on the node.
fn take_up(estate: &Estate, shard: u32, from: &str, to: &str) {
    let rules = format!(
        "SELECT format('ALTER SEQUENCE shard_{shard:04}.%I AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s;',
                  q.name, q.type::regtype, q.increment, q.min, q.max, q.start, q.cache, CASE WHEN q.cycle THEN 'CYCLE' ELSE 'NO CYCLE' END)
           FROM (SELECT rules::jsonb FROM shardid.move WHERE shard = {shard} AND source = '{from}' AND rules IS NOT NULL
                 ORDER BY move DESC LIMIT 1) m,
                jsonb_to_recordset(m.rules) AS q(name text, type text, increment bigint, min bigint, max bigint, start bigint, cache bigint, cycle bool)"
    );
    let mut open = estate.psql("pg1", &rules);
    if open.is_empty() {
        // The catalog is lost.
        let schema = format!("shard_{shard:04}");
        open = estate.psql(
            to,
            &format!(
                "SELECT string_agg(format('ALTER SEQUENCE %s %s NO MAXVALUE;', oid::regclass, CASE relname WHEN 'shard_id_seq' THEN '' ELSE 'NO MINVALUE' END), ' ')
                   FROM pg_class WHERE relkind = 'S' AND relnamespace = '{schema}'::regnamespace"
            ),
        );
    }
    estate.psql(to, &open);
    estate.psql(
        to,
        &format!("DELETE FROM shardid.shard WHERE shard = {shard} AND state = 'moved'; SELECT create_shard({shard})"),
    );
}

#[test]
fn a_shard_that_its_new_home_has_lost_is_brought_back_from_the_old_copy_as_verify_says() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    make_down_and_round(&estate, shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let rows = format!("SELECT count(*), max(id) FROM shard_{shard:04}.item");
    estate.psql("pg2", &write);
    let last = estate.psql("pg2", &rows);
    let next =
        format!("SELECT nextval('shard_{shard:04}.down'), nextval('shard_{shard:04}.round')");
    wait_until(Duration::from_secs(60), "the old copy to have the row", || {
        estate.psql("pg1", &rows) == last
    });
    forget_the_end_of_a_move(&estate, "pg2", shard, "pg1");
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("`shardid verify`"), "{refused}");
    let verify = estate.run(&["verify"]).stdout;
    let schema = format!("shard_{shard:04}");
    let says = format!("and is on no node: an old copy is on pg1, in schema {schema}: keep it");
    assert!(verify.contains(&says), "{verify}");
    bring_back(&estate, shard, "pg1", "pg2");
    // The second time takes the guard down that came with the tables.
    estate.run(&["apply", "--yes"]).ok();
    estate.run(&["apply", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!(estate.psql("pg2", &rows), last);
    estate.psql("pg2", &write);
    assert_eq!(estate.psql("pg2", &next), "-2|1", "one goes down, and one comes round");
    assert!(estate.psql("pg2", &rows) > last);
    assert!(estate.node("pg1").try_psql("app", &write).is_err());
    // The old copy knows nothing of what was written since.
    let id = estate.last_move(shard);
    let refused = estate.run(&["rollback", &id, "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("the old copy of table"), "{}", refused.stderr);
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.run(&["verify"]).ok();
    estate.psql("pg2", &write);
}

/// One has given its first number, the other its last.
fn make_down_and_round(estate: &Estate, shard: u32) {
    estate.psql(
        "pg1",
        &format!(
            "CREATE SEQUENCE shard_{shard:04}.down INCREMENT -1; CREATE SEQUENCE shard_{shard:04}.round MAXVALUE 2 CYCLE;
             SELECT nextval('shard_{shard:04}.down'), nextval('shard_{shard:04}.round'), nextval('shard_{shard:04}.round')"
        ),
    );
}

/// The copy that a rollback had gone back to is closed on a standby that was promoted without its end.
#[test]
fn a_shard_whose_home_has_a_closed_copy_of_it_goes_on_there() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    make_down_and_round(&estate, shard);
    estate.psql("pg1", &write);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    let schema = format!("shard_{shard:04}");
    estate.run(&["rollback", &id, "--yes"]).ok();
    // As it was before.
    estate.psql(
        "pg1",
        &format!(
            "UPDATE shardid.shard SET state = 'moved', node = 'pg2' WHERE shard = {shard};
             SELECT setval('{schema}.down', -2); ALTER SEQUENCE {schema}.down MINVALUE -2;
             ALTER SEQUENCE {schema}.round NO CYCLE MAXVALUE 2; SELECT setval('{schema}.round', 2)"
        ),
    );
    let found = estate.run(&["verify"]).stdout;
    let says = format!(
        "shard {shard} should be here by the map, and is on no node: an old copy is on pg1, in schema {schema}"
    );
    assert!(found.contains(&says), "{found}");
    take_up(&estate, shard, "pg1", "pg1");
    estate.run(&["apply", "--yes"]).ok();
    estate.psql("pg1", &write);
    let next = format!("SELECT nextval('{schema}.down'), nextval('{schema}.round')");
    assert_eq!(estate.psql("pg1", &next), "-3|1");
    estate.run(&["verify"]).ok();
}

/// An empty database in the place of the one that was lost got an empty shard, and `verify` said then to drop
/// the old copy.
#[test]
fn no_shard_is_made_anew_of_which_another_node_has_an_old_copy() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let rows = format!("SELECT count(*), max(id) FROM shard_{shard:04}.item");
    estate.psql("pg2", &write);
    let last = estate.psql("pg2", &rows);
    wait_until(Duration::from_secs(60), "the old copy to have the row", || {
        estate.psql("pg1", &rows) == last
    });
    let id = estate.last_move(shard);
    estate.psql(
        "pg2",
        &format!(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active;
             DROP PUBLICATION shardid_back_{id}; DROP SCHEMA shard_{shard:04} CASCADE; DROP EXTENSION shardid CASCADE"
        ),
    );
    for command in [&["plan"][..], &["apply", "--yes"], &["apply", "--yes", "--adopt", "pg2"]] {
        let refused = estate.run(command).refused();
        let words = format!(
            "shard {shard} is not on node pg2, where the map has it, and node pg1 has an old copy"
        );
        assert!(refused.contains(&words), "{refused}");
        assert!(refused.contains("keep that copy"), "{refused}");
    }
    let verify = estate.run(&["verify"]).stdout;
    assert!(!verify.contains("retire"), "{verify}");
    estate.psql("pg2", "CREATE EXTENSION shardid");
    bring_back(&estate, shard, "pg1", "pg2");
    estate.run(&["apply", "--yes"]).ok();
    estate.run(&["apply", "--yes"]).ok();
    assert_eq!(estate.psql("pg2", &rows), last);
    estate.psql("pg2", &write);
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.run(&["verify"]).ok();
}

/// The same where the catalog is on that node, and was restored with it.
#[test]
fn a_shard_that_its_new_home_has_lost_together_with_the_catalog_is_brought_back() {
    let estate = Estate::start(2, 4);
    for shard in 0..4 {
        estate.make_tables(shard);
    }
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg2").expect("it has some");
    let table = format!("shard_{shard:04}.item");
    let write = format!("INSERT INTO {table} (n) SELECT coalesce(max(n), 0) + 1 FROM {table}");
    let rows = format!("SELECT count(*), max(id) FROM {table}");
    estate.psql("pg2", &write);
    back_up(&estate);
    estate.run(&["move", &shard.to_string(), "--to", "pg1", "--yes"]).ok();
    let last = estate.psql("pg1", &rows);
    restore(&estate);
    estate.psql("pg1", "DROP SUBSCRIPTION IF EXISTS shardid_move_1");
    forget_the_end_of_a_move(&estate, "pg1", shard, "pg2");
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    assert!(refused.contains("docs/cluster.md"), "{refused}");
    bring_back(&estate, shard, "pg2", "pg1");
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    estate.run(&["apply", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!((estate.home(shard), estate.psql("pg1", &rows)), ("pg1".into(), last.clone()));
    estate.psql("pg1", &write);
    assert!(estate.psql("pg1", &rows) > last);
    assert!(estate.node("pg2").try_psql("app", &write).is_err());
}

/// What a source knows whose standby was promoted without the move: the shard lives there still.
#[test]
fn a_shard_that_is_open_twice_is_closed_where_the_map_is_older() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    back_up(&estate);
    estate.psql("pg1", "CREATE TABLE older.shard AS TABLE shardid.shard; CREATE TABLE older.cluster AS TABLE shardid.cluster");
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes", "--no-rollback"]).ok();
    estate.psql("pg2", &write);
    let rows = format!("SELECT count(*) FROM shard_{shard:04}.item");
    let count = estate.psql("pg2", &rows);
    estate.psql(
        "pg1",
        &format!(
            "UPDATE shardid.shard s SET state = 'open', node = 'pg1', map_version = o.map_version FROM older.shard o WHERE o.shard = s.shard AND s.shard = {shard}; \
             UPDATE shardid.cluster SET map_version = (SELECT map_version FROM older.cluster)"
        ),
    );
    restore(&estate);
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    assert!(refused.contains("`shardid verify`"), "{refused}");
    let found = estate.run(&["verify"]).stdout;
    let says = format!(
        "shard {shard} is open on pg1 and on pg2: the one on pg1 is of an older map (version 1, and 2 on pg2): close it"
    );
    let line =
        found.lines().find(|line| line.starts_with(&says)).unwrap_or_else(|| panic!("{found}"));
    let statement = line.rsplit_once(": on pg1 `").expect("a command").1;
    estate.psql("pg1", statement.trim_end_matches('`'));
    let update = format!("UPDATE shard_{shard:04}.item SET n = n + 1");
    assert!(estate.node("pg1").try_psql("app", &update).is_err(), "the closed copy takes writes");
    estate.psql("pg1", &format!("SELECT count(*) FROM shard_{shard:04}_left.item"));
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!((estate.home(shard), estate.psql("pg2", &rows)), ("pg2".into(), count));
    assert!(estate.node("pg1").try_psql("app", &write).is_err());
}

#[test]
fn a_shard_whose_new_home_is_restored_from_before_it_came_is_not_opened_there() {
    let estate = Estate::start(2, 4);
    let (shard, _) = shard_on_pg1(&estate);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes", "--no-rollback"]).ok();
    // As its rows were before: the shard lives on pg1, and nothing else is known.
    estate.psql(
        "pg2",
        &format!("UPDATE shardid.shard SET state = 'moved', node = 'pg1' WHERE shard = {shard}"),
    );
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("pg1"), "{refused}");
    lose(&estate);
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    assert!(refused.contains(&format!("shard {shard} is on no node")), "{refused}");
    let found = estate.run(&["verify"]).stdout;
    assert!(
        found.contains(&format!("these shards are on no node: {shard}: put the nodes")),
        "{found}"
    );
}
