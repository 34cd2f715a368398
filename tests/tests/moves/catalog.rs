//! The catalog is lost, or comes from an older backup.

use std::fs;

use shardid_tests::estate::Estate;

const TABLES: [&str; 7] = ["catalog", "node", "map", "map_history", "move", "leftover", "move_log"];

/// Takes a copy of the catalog, as a backup does.
pub(crate) fn back_up(estate: &Estate) {
    let copies = TABLES.map(|table| format!("CREATE TABLE older.{table} AS TABLE shardid.{table}"));
    estate.psql("pg1", &format!("CREATE SCHEMA older; {}", copies.join("; ")));
}

/// Has the catalog be what it was then.
pub(crate) fn restore(estate: &Estate) {
    let tables = TABLES.map(|table| format!("shardid.{table}")).join(", ");
    let rows = TABLES.map(|table| {
        format!("INSERT INTO shardid.{table} OVERRIDING SYSTEM VALUE TABLE older.{table}")
    });
    estate.psql("pg1", &format!("BEGIN; TRUNCATE {tables}; {}; COMMIT", rows.join("; ")));
    estate.psql("pg1", "DROP SCHEMA older CASCADE");
}

/// Has the catalog be gone.
pub(crate) fn lose(estate: &Estate) {
    estate.psql(
        "pg1",
        "DROP TABLE shardid.catalog, shardid.catalog_history, shardid.node, shardid.map, \
         shardid.map_history, shardid.move, shardid.leftover, shardid.move_log, \
         shardid.ticket_node, shardid.ticket_server, shardid.ticket_change CASCADE",
    );
}

pub(crate) fn is_as_the_file_says(estate: &Estate) {
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
}

fn map_version(estate: &Estate) -> String {
    let map = estate.run(&["map", "--format", "json"]).ok();
    let version = map.lines().find(|line| line.contains("\"version\"")).expect("it has one");
    version.chars().filter(char::is_ascii_digit).collect()
}

#[test]
fn a_lost_catalog_is_made_anew_from_the_nodes_above_all_that_was_counted() {
    let estate = Estate::start(2, 4);
    for shard in 0..4 {
        estate.make_tables(shard);
    }
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let homes: Vec<String> = (0..4).map(|shard| estate.home(shard)).collect();
    lose(&estate);
    let verify = estate.run(&["verify"]);
    assert_eq!(verify.code, 1, "{}", verify.stderr);
    assert!(verify.stdout.contains("pg1: the catalog is not here"), "{}", verify.stdout);
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("`shardid catalog rebuild`"), "{refused}");
    let shown = estate.run(&["catalog", "rebuild", "--dry-run"]);
    assert!(shown.stdout.contains("~ pg2: has 3 shards"), "{}{}", shown.stdout, shown.stderr);
    assert!(shown.stderr.contains("with `shardid catalog rebuild`"), "{}", shown.stderr);
    let refused = estate.run(&["catalog", "rebuild"]).refused();
    assert!(refused.contains("there is no terminal to ask on"), "{refused}");

    // Cut before anything is written, and again before the nodes are told.
    estate.run_cut("apply/before-Catalog-pg1", &["catalog", "rebuild", "--yes"]);
    estate.run_cut("apply/before-Shards-pg1", &["catalog", "rebuild", "--yes"]);
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    assert!(refused.contains("no node a newer one"), "{refused}");
    estate.run(&["apply", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!(homes, (0..4).map(|shard| estate.home(shard)).collect::<Vec<_>>());
    assert_eq!(map_version(&estate), "1000000001");

    // What the forgotten move left is found, and no later one has its number.
    let verify = estate.run(&["verify"]);
    assert_eq!(verify.code, 1, "{}", verify.stderr);
    assert!(verify.stdout.contains("shardid_back_1"), "{}", verify.stdout);
    let other = (0..4).find(|other| *other != shard && estate.home(*other) == "pg2").unwrap();
    estate.run(&["move", &other.to_string(), "--to", "pg1", "--yes"]).ok();
    assert_eq!(estate.last_move(other), "1000000001");
    assert_eq!(map_version(&estate), "1000000002");
    let term = "SELECT min(term) > 1000000000 FROM shardid.move";
    assert_eq!(estate.psql("pg1", term), "t");
    estate.run(&["rollback", "1000000001", "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
}

#[test]
fn a_catalog_from_an_older_backup_is_brought_up_to_the_nodes() {
    let estate = Estate::start(2, 4);
    for shard in 0..4 {
        estate.make_tables(shard);
    }
    let at = |node: &str| (0..4).filter(|shard| estate.home(*shard) == node).collect::<Vec<_>>();
    let (here, there) = (at("pg1"), at("pg2"));
    // By the backup the first move is done, and the second one unfinished.
    estate.run(&["move", &there[0].to_string(), "--to", "pg1", "--yes"]).ok();
    let first = estate.last_move(there[0]);
    estate.run_cut("fenced/before-next", &["move", &here[0].to_string(), "--to", "pg2", "--yes"]);
    let second = estate.last_move(here[0]);
    back_up(&estate);
    estate.run(&["resume", &second]).ok();
    estate.run(&["rollback", &first, "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    let version: i64 = map_version(&estate).parse().unwrap();
    restore(&estate);

    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("`shardid catalog rebuild`"), "{refused}");
    // Nothing is lost, and so nothing is to be accepted.
    let found = estate.run(&["verify"]).stdout;
    let says = format!(
        "shard {} is open on pg2 alone, and the map has it on pg1: `shardid catalog rebuild` has the map name pg2",
        there[0]
    );
    assert!(found.contains(&says) && !found.contains("rebuild --accept-loss"), "{found}");
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!(map_version(&estate).parse::<i64>().unwrap(), 1_000_000_001);
    assert!(version < 1_000_000_001);
    assert_eq!((estate.home(here[0]), estate.home(there[0])), ("pg2".into(), "pg2".into()));
    // Neither is gone on with: the shards are where they are.
    assert_eq!(estate.state(&second), "aborted");
    let resumed = estate.run(&["resume", &second]);
    assert!(resumed.stderr.contains("is aborted already"), "{}", resumed.stderr);
    let retired = estate.run(&["retire", &first, "--yes"]);
    assert!(retired.stderr.contains("is retired already"), "{}", retired.stderr);
    estate.run(&["verify", "--data"]).ok();
    for shard in 0..4 {
        let home = estate.home(shard);
        estate.psql(&home, &format!("INSERT INTO shard_{shard:04}.item (n) VALUES (1)"));
    }
    estate.run(&["move", &here[0].to_string(), "--to", "pg1", "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.assert_no_streams();
}

/// People were sent to look for rows that the node had lost.
#[test]
fn an_old_copy_that_was_dropped_after_the_catalog_was_backed_up_is_said_not_to_be_there() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    let write = |n| format!("INSERT INTO shard_{shard:04}.item (n) VALUES ({n})");
    estate.psql("pg1", &write(1));
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    back_up(&estate);
    estate.run(&["retire", "1", "--yes"]).ok();
    restore(&estate);
    let says = format!("the old copy of shard {shard} is not there");
    let found = estate.run(&["verify"]);
    let hint = "nothing is lost with it: `shardid retire 1` ends the way back to it";
    assert!(found.code == 1 && found.stdout.contains(&says), "{}", found.stdout);
    assert!(found.stdout.contains(hint) && !found.stdout.contains("rows"), "{}", found.stdout);
    let moves = estate.run(&["moves"]).stderr;
    assert!(moves.contains(&says) && moves.contains(hint), "{moves}");
    let refused = estate.run(&["rollback", "1", "--yes"]).refused();
    assert!(refused.contains(&says), "{refused}");
    estate.run(&["retire", "1", "--yes"]).ok();
    estate.run(&["verify", "--data"]).ok();
    estate.psql("pg2", &write(2));
    estate.assert_no_trace(shard);
    estate.assert_no_streams();
}

/// People were told to put guards on the tables of the open shard, and to drop it for an old copy.
#[test]
fn a_shard_that_came_back_after_the_catalog_was_backed_up_is_no_old_copy() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    back_up(&estate);
    estate.run(&["rollback", "1", "--yes"]).ok();
    restore(&estate);
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&format!("shard {shard} is open on pg1 alone")), "{found}");
    for words in ["guard", "CREATE OR REPLACE TRIGGER", "--accept-loss"] {
        assert!(!found.contains(words), "{words}: {found}");
    }
    let says = format!("shard {shard} is open on pg1: what is there is no old copy");
    let moves = estate.run(&["moves"]).stderr;
    assert!(moves.contains(&says) && !moves.contains("shardid retire"), "{moves}");
    for command in [&["rollback", "1", "--yes"][..], &["retire", "1", "--accept-loss", "--yes"]] {
        let refused = estate.run(command).refused();
        assert!(refused.contains("`shardid catalog rebuild`"), "{command:?}: {refused}");
    }
    let write = |n| format!("INSERT INTO shard_{shard:04}.item (n) VALUES ({n})");
    estate.psql("pg1", &write(1));
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    estate.psql("pg1", &write(2));
    let found = estate.run(&["verify", "--data"]).stdout;
    assert!(!found.contains("guard") && !found.contains("is open on"), "{found}");
    is_as_the_file_says(&estate);
}

#[test]
fn a_catalog_that_another_one_took_over_from_changes_nothing_more() {
    let estate = Estate::start(2, 4);
    let path = estate.folder().join("shardid.toml");
    let text = fs::read_to_string(&path).expect("it is there");
    let other = text.replace("catalog = \"pg1\"", "catalog = \"pg2\"");
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    let shard = shard.to_string();
    // Both ended, and the map was not where the shard was: one was changed while the other was made.
    estate.run_cut("following/before-next", &["move", &shard, "--to", "pg2", "--yes"]);
    fs::write(&path, &other).expect("it is ours");
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    assert!(
        refused.contains("node pg1 keeps a catalog of cluster photos with unfinished moves: 1"),
        "{refused}"
    );
    fs::write(&path, &text).expect("it is ours");
    estate.run(&["resume", "1"]).ok();
    let second = (0..4).rev().find(|one| estate.home(*one) == "pg2" && one.to_string() != shard);
    let second = second.expect("it has some");
    estate.make_tables(second);
    let held =
        estate.run_held("plan/before", &["move", &second.to_string(), "--to", "pg1", "--yes"]);
    fs::write(&path, &other).expect("it is ours");
    let refused = estate.run(&["plan"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    is_as_the_file_says(&estate);
    let late = held.let_go();
    assert!(late.stderr.contains("is not on pg2 any more"), "{}", late.stderr);
    is_as_the_file_says(&estate);
    // Somebody still has the old file.
    fs::write(&path, text).expect("it is ours");
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("name the node that keeps the map as `catalog`"), "{refused}");
    let refused = estate.run(&["move", "0", "--to", "pg2", "--yes"]).refused();
    assert!(refused.contains("the cluster has no map yet"), "{refused}");
}

/// The new move had the number of the one that the backup does not know, took up its publication,
/// slot and subscription, which carry another shard, and switched to a copy without rows.
#[test]
fn a_move_after_an_older_backup_takes_up_nothing_of_one_that_was_forgotten() {
    let estate = Estate::start(2, 6);
    let here: Vec<u32> = (0..6).filter(|shard| estate.home(*shard) == "pg1").collect();
    for shard in &here {
        estate.make_tables(*shard);
        let rows = "INSERT INTO shard_%.item (n) SELECT generate_series(1, 500)";
        estate.psql("pg1", &rows.replace('%', &format!("{shard:04}")));
    }
    back_up(&estate);
    estate
        .run_cut("following/before-next", &["move", &here[0].to_string(), "--to", "pg2", "--yes"]);
    let forgotten: i64 = estate.last_move(here[0]).parse().unwrap();
    restore(&estate);
    estate.psql("pg1", "ALTER TABLE shardid.move ALTER move RESTART WITH 1");
    // The map has not changed since: there is nothing to rebuild.
    estate.run(&["apply", "--yes"]).ok();
    let moved = here[1].to_string();
    estate.run(&["move", &moved, "--to", "pg2", "--verify", "none", "--yes"]).ok();
    let count = format!("SELECT count(*) FROM shard_{:04}.item", here[1]);
    assert_eq!(estate.psql("pg2", &count), "500");
    let number: i64 = estate.last_move(here[1]).parse().unwrap();
    assert!(number > forgotten, "{number} is the number of the forgotten move, or lower");
    // A second one goes on from there.
    estate.run(&["rollback", &number.to_string(), "--yes"]).ok();
}

/// A shard on pg1 with rows, and what adds one.
pub(crate) fn shard_on_pg1(estate: &Estate) -> (u32, String) {
    for shard in 0..4 {
        estate.make_tables(shard);
    }
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let table = format!("shard_{shard:04}.item");
    (shard, format!("INSERT INTO {table} (n) SELECT coalesce(max(n), 0) + 1 FROM {table}"))
}

/// The shard takes no writes on pg1, `verify` and `plan` say so, and `apply` opens it.
fn is_opened_by_apply(estate: &Estate, shard: u32, write: &str) {
    let refused = estate.node("pg1").try_psql("app", write).unwrap_err();
    assert!(refused.contains("is fenced"), "{refused}");
    let verify = estate.run(&["verify"]);
    let says = format!(
        "pg1: shard {shard} lives here behind a fence, and no move takes that down: `shardid apply`\n"
    );
    assert!(verify.stdout.contains(&says), "{}{}", verify.stdout, verify.stderr);
    let plan = estate.run(&["plan"]).ok();
    let step = format!("~ pg1: open 1 shard: {shard} (");
    assert!(plan.contains(&step), "{plan}");
    estate.run_cut("open/before-claim", &["apply", "--yes"]);
    estate.run_cut("open/claimed", &["apply", "--yes"]);
    let said = estate.run(&["apply", "--yes"]);
    assert!(said.stderr.contains("pg1: 1 shard can be written to again"), "{}", said.stderr);
    is_as_the_file_says(estate);
    estate.psql("pg1", write);
    let verify = estate.run(&["verify"]);
    assert!(!verify.stdout.contains("behind a fence"), "{}", verify.stdout);
}

#[test]
fn a_shard_whose_move_was_lost_with_the_catalog_is_opened_by_apply() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    let shard_name = shard.to_string();
    estate.run_cut("switched/before-GuardSource", &["move", &shard_name, "--to", "pg2", "--yes"]);
    lose(&estate);
    // The steps of a rebuild have it too; here they are cut before that.
    let shown = estate.run(&["catalog", "rebuild", "--dry-run"]).ok();
    assert!(shown.contains(&format!("open 1 shard: {shard} (")), "{shown}");
    estate.run_cut("apply/before-Open-pg1", &["catalog", "rebuild", "--yes"]);
    is_opened_by_apply(&estate, shard, &write);

    // What is said of the rest can be followed from the first line on, and keeps the copy.
    let said = estate.run(&["verify"]).stdout;
    assert!(!said.contains("DROP TRIGGER"), "{said}");
    let copy = format!(
        "schema shard_{shard:04} is a copy of shard {shard} that no move knows, and the shard lives on pg1"
    );
    for what in ["subscription shardid_move_", "slot shardid_move_", "slot shardid_back_", &copy] {
        assert!(said.contains(what), "{what}: {said}");
    }
    for line in said.lines() {
        let (node, statements) = (&line[..3], line.rsplit_once(": `").expect("a command").1);
        for statement in statements.trim_end_matches('`').split("; ") {
            estate.psql(node, statement);
        }
    }
    assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");
    estate.assert_no_streams();
    let kept = format!("SELECT count(*) > 0 FROM shard_{shard:04}_left.item");
    assert_eq!(estate.psql("pg2", &kept), "t");
    let guarded = estate
        .node("pg2")
        .try_psql("app", &format!("INSERT INTO shard_{shard:04}_left.item (n) VALUES (-1)"));
    assert!(guarded.is_err());
    estate.run(&["move", &shard_name, "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &write);
    estate.run(&["retire", "--all", "--yes"]).ok();
    assert_eq!(estate.psql("pg2", &kept), "t");
    estate.run(&["verify"]).ok();
}

/// The catalog is lost after the old copy was closed, and before the new one was open.
fn is_opened_where_it_was_to_be(estate: &Estate, shard: u32, at: &str, write: &str) {
    let table = format!("shard_{shard:04}.item");
    let rows = format!("SELECT count(*), sum(n), max(id) FROM {table}");
    let other = if at == "pg2" { "pg1" } else { "pg2" };
    let before = estate.psql(other, &rows);
    lose(estate);
    let next =
        format!("SELECT nextval('shard_{shard:04}.plain'), nextval('shard_{shard:04}.round')");
    for node in ["pg1", "pg2"] {
        assert!(estate.node(node).try_psql("app", &next).is_err(), "{node} gives numbers");
    }
    for node in ["pg1", "pg2"] {
        assert!(estate.node(node).try_psql("app", write).is_err(), "{node} takes writes");
    }
    let verify = estate.run(&["verify"]).stdout;
    let says = format!("these shards are open on no node: {shard}: a move of each was lost");
    assert!(verify.contains(&says), "{verify}");
    let shown = estate.run(&["catalog", "rebuild", "--dry-run"]).ok();
    assert!(shown.contains(&format!("~ {at}: open 1 shard: {shard} (")), "{shown}");
    estate.run_cut(&format!("apply/before-Open-{at}"), &["catalog", "rebuild", "--yes"]);
    let verify = estate.run(&["verify"]).stdout;
    let says = format!(
        "{at}: shard {shard} should be open here, where a lost move was about to open it: `shardid apply`"
    );
    assert!(verify.contains(&says), "{verify}");
    for place in ["claimed", "guarded"] {
        estate.run_cut(&format!("open/{place}"), &["apply", "--yes"]);
    }
    let said = estate.run(&["apply", "--yes"]);
    assert!(
        said.stderr.contains(&format!("{at}: 1 shard can be written to again")),
        "{}",
        said.stderr
    );
    is_as_the_file_says(estate);
    assert_eq!(estate.home(shard), at);
    assert_eq!(estate.psql(at, &rows), before);
    assert!(estate.node(other).try_psql("app", write).is_err(), "{other} takes writes");
    estate.psql(at, write);
    let last = |id: String| id.rsplit('|').next().unwrap().parse::<i64>().unwrap();
    assert!(last(estate.psql(at, &rows)) > last(before), "an id below one from before");
    assert_eq!(estate.psql(at, &next), "3|7", "the sequences go on");
    assert!(estate.node(other).try_psql("app", &next).is_err(), "{other} gives numbers");
}

/// Two numbers of the one are given, and none of the other.
fn make_sequences(estate: &Estate, shard: u32) {
    estate.psql(
        "pg1",
        &format!(
            "CREATE SEQUENCE shard_{shard:04}.plain; CREATE SEQUENCE shard_{shard:04}.round MAXVALUE 9 START 7 CYCLE;
             SELECT nextval('shard_{shard:04}.plain'), nextval('shard_{shard:04}.plain')"
        ),
    );
}

#[test]
fn a_shard_that_a_lost_move_had_closed_is_opened_where_it_was_about_to_be() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    let name = shard.to_string();
    make_sequences(&estate, shard);
    for _ in 0..3 {
        estate.psql("pg1", &write);
    }
    estate.run_cut("switched/before-OpenTarget", &["move", &name, "--to", "pg2", "--yes"]);
    is_opened_where_it_was_to_be(&estate, shard, "pg2", &write);
}

#[test]
fn a_shard_that_a_lost_rollback_had_closed_is_opened_where_it_was_about_to_be() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    make_sequences(&estate, shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &write);
    let id = estate.last_move(shard);
    estate.run_cut("switched/before-OpenTarget", &["rollback", &id, "--yes"]);
    is_opened_where_it_was_to_be(&estate, shard, "pg1", &write);
}

#[test]
fn what_a_standing_move_needs_is_no_finding() {
    let estate = Estate::start(2, 4);
    let (shard, _) = shard_on_pg1(&estate);
    let shard_name = shard.to_string();
    let moving = ["move", shard_name.as_str(), "--to", "pg2", "--yes"];
    estate.run_cut("fenced/before-next", &moving);
    let id = estate.last_move(shard);
    // But that it stands.
    let said = estate.run(&["verify"]).stdout;
    let stands = format!("move {id} of shard {shard} stands fenced");
    assert!(said.starts_with(&stands) && said.lines().count() == 1, "{said}");
    for place in ["GuardSource", "OpenTarget", "EndStream", "OpenWayBack", "TellNodes"] {
        estate.run_cut(&format!("switched/before-{place}"), &["resume", &id]);
        let said = estate.run(&["verify"]).stdout;
        assert!(!said.contains("no move"), "{place}: {said}");
    }
    estate.run(&["resume", &id]).ok();
    estate.run(&["verify"]).ok();
    estate.run_cut("switched/before-OpenTarget", &["rollback", &id, "--yes"]);
    let said = estate.run(&["verify"]).stdout;
    assert!(!said.contains("no move"), "{said}");
}

#[test]
fn a_program_of_before_the_catalog_was_restored_changes_no_shard_that_apply_has_opened() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    back_up(&estate);
    let shard_name = shard.to_string();
    let moving = estate
        .run_held("switched/before-GuardSource", &["move", &shard_name, "--to", "pg2", "--yes"]);
    let term = format!("SELECT term FROM shardid.shard_term WHERE shard = {shard}");
    let term = estate.psql("pg1", &term);
    let check = format!("SELECT shardid.check_term({shard}, {term})");
    estate.psql("pg1", &check);
    restore(&estate);
    // It is at work there still, as far as this server knows.
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("is working on a move of shard"), "{refused}");
    // The sessions with a database that is restored end; what was sent to a node may go on.
    estate.psql(
        "pg1",
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 324843900",
    );
    is_opened_by_apply(&estate, shard, &write);
    let late = estate.node("pg1").try_psql("app", &check).unwrap_err();
    assert!(late.contains("another program has taken over"), "{late}");
    let late = moving.let_go();
    assert_ne!(late.code, 0, "{}", late.stderr);
    estate.psql("pg1", &write);
    is_as_the_file_says(&estate);
}

/// What the catalog of a backup, or of a standby that was behind, says of a move is not so by now:
/// `abort` dropped the only copy, `resume` opened a second one or closed the last.
#[test]
fn an_older_catalog_lays_hands_on_no_move_that_has_gone_on() {
    let estate = Estate::start(3, 12);
    let cuts = [
        "copying/before-MakeIndexes",
        "fenced/before-CarryOver",
        "switched/before-GuardSource",
        "switched/before-OpenTarget",
    ];
    let shards: Vec<u32> = (0..12).filter(|shard| estate.home(*shard) == "pg2").collect();
    let insert = |shard: u32, from: u32| {
        let table = format!("shard_{shard:04}.item");
        format!("INSERT INTO {table} (n) SELECT generate_series({from}, {from} + 99)")
    };
    let mut moves = Vec::new();
    for (shard, cut) in shards.iter().zip(cuts) {
        estate.make_tables(*shard);
        estate.psql("pg2", &insert(*shard, 1));
        estate.run_cut(cut, &["move", &shard.to_string(), "--to", "pg3", "--yes"]);
        moves.push((*shard, estate.last_move(*shard)));
    }
    back_up(&estate);
    for (shard, id) in &moves {
        estate.run(&["resume", id]).ok();
        estate.psql("pg3", &insert(*shard, 1_000));
    }
    // The last one has come back meanwhile.
    let (back, id) = moves.last().expect("there are some").clone();
    estate.run(&["rollback", &id, "--yes"]).ok();
    restore(&estate);
    for (shard, id) in &moves {
        for word in ["abort", "resume", "rollback", "retire"] {
            let run = estate.say(word, id);
            assert_ne!(run.code, 0, "{word} {id}: {}", run.stderr);
            // A move that is switched cannot be aborted anyway.
            if word == "resume" || word == "abort" && !run.stderr.contains("is switched") {
                assert!(run.stderr.contains("and the catalog has"), "{word}: {}", run.stderr);
            }
        }
        let home = if *shard == back { "pg2" } else { "pg3" };
        estate.psql(home, &insert(*shard, 2_000));
        let rows = format!("SELECT count(*) FROM shard_{shard:04}.item");
        assert_eq!(estate.psql(home, &rows), "300", "shard {shard}");
        let open = format!(
            "SELECT count(*) FROM shardid.shard WHERE shard = {shard} AND state <> 'moved'"
        );
        let open = ["pg1", "pg2", "pg3"].map(|node| estate.psql(node, &open));
        let wanted = ["pg1", "pg2", "pg3"].map(|node| if node == home { "1" } else { "0" });
        assert_eq!(open, wanted, "shard {shard}");
    }
    // Nor does anybody say that what is in use is left over.
    let verify = estate.run(&["verify"]);
    assert!(!verify.stdout.contains("is left over"), "{}", verify.stdout);
}

/// The copy that is given up is looked at once more in the transaction that drops it.
#[test]
fn a_copy_that_is_the_shard_itself_is_not_dropped_whatever_the_journal_says() {
    let estate = Estate::start(2, 4);
    let (shard, _) = shard_on_pg1(&estate);
    let moving = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
    estate.run_cut("fenced/before-CarryOver", &moving);
    let id = estate.last_move(shard);
    let opened = format!(
        "UPDATE shardid.shard SET state = '%', sequence = 'shard_{shard:04}.shard_id_seq'::regclass WHERE shard = {shard}"
    );
    for state in ["open", "fenced"] {
        estate.psql("pg2", &opened.replace('%', state));
        let run = estate.run(&["abort", &id, "--yes"]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        let says = format!("is no copy: shard {shard} lives there, and is {state}");
        assert!(run.stderr.contains(&says), "{}", run.stderr);
        let there = format!("SELECT to_regclass('shard_{shard:04}.item') IS NOT NULL");
        assert_eq!(estate.psql("pg2", &there), "t");
    }
    estate.psql("pg2", &opened.replace('%', "moved"));
    estate.run(&["abort", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// The catalog is on the source, which comes back from a moment inside the fence: the target
/// has the shard open by a newer map, and the words for the standing move opened it here as well.
#[test]
fn a_fence_stays_where_the_target_knows_a_newer_map() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    let name = shard.to_string();
    estate.run_cut("fenced/before-next", &["move", &name, "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    back_up(&estate);
    estate.psql(
        "pg1",
        "CREATE TABLE older.shard AS TABLE shardid.shard; CREATE TABLE older.cluster AS TABLE shardid.cluster",
    );
    estate.run(&["resume", &id]).ok();
    estate.psql("pg2", &write);
    estate.psql(
        "pg1",
        &format!(
            "UPDATE shardid.shard s SET state = o.state, node = o.node, map_version = o.map_version FROM older.shard o WHERE o.shard = s.shard AND s.shard = {shard}; \
             UPDATE shardid.cluster SET map_version = (SELECT map_version FROM older.cluster)"
        ),
    );
    restore(&estate);
    for word in [&["resume", &id][..], &["abort", &id, "--yes"]] {
        let refused = estate.run(word);
        assert_ne!(refused.code, 0, "{}", refused.stdout);
        assert!(refused.stderr.contains("map"), "{}", refused.stderr);
        let state = format!("SELECT state FROM shardid.shard WHERE shard = {shard}");
        assert_eq!(estate.psql("pg1", &state), "fenced", "{word:?}: {}", refused.stderr);
    }
    estate.psql("pg2", &write);
    // The way out is in what verify says.
    let found = estate.run(&["verify"]).stdout;
    let says = format!(
        "shard {shard} is open on pg2, and on pg1 behind a fence: the one on pg1 is of an older map"
    );
    let line =
        found.lines().find(|line| line.starts_with(&says)).unwrap_or_else(|| panic!("{found}"));
    let refused = estate.run(&["catalog", "rebuild", "--yes"]);
    assert!(refused.stderr.contains("shardid verify"), "{}", refused.stderr);
    let close = line.split('`').nth(1).expect("it says what closes it");
    estate.psql("pg1", close);
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    estate.run(&["apply", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!(estate.home(shard), "pg2");
    estate.psql("pg2", &write);
    // What the move has left is named, and can be followed from the first on.
    for round in 0.. {
        let found = estate.run(&["verify"]).stdout;
        let Some(first) = found.lines().next().filter(|line| line.contains(" is left over")) else {
            assert!(found.contains("OK: "), "{found}");
            break;
        };
        assert!(round < 20, "{found}");
        let (node, rest) = first.split_once(": ").expect("it names the node");
        let statement = rest.split('`').nth(1).expect("it says what removes it");
        for one in statement.split_inclusive(';') {
            estate.psql(node, one);
        }
    }
    let slots = "SELECT count(*) FROM pg_replication_slots";
    assert_eq!((estate.psql("pg1", slots), estate.psql("pg2", slots)), ("0".into(), "0".into()));
}
