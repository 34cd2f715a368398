//! The catalogue is lost, or comes from an older backup.

use std::fs;

use shardid_tests::estate::Estate;

const TABLES: [&str; 7] = ["catalog", "node", "map", "map_history", "move", "leftover", "move_log"];

/// Takes a copy of the catalogue, as a backup does.
fn back_up(estate: &Estate) {
    let copies = TABLES.map(|table| format!("CREATE TABLE older.{table} AS TABLE shardid.{table}"));
    estate.psql("pg1", &format!("CREATE SCHEMA older; {}", copies.join("; ")));
}

/// Has the catalogue be what it was then.
fn restore(estate: &Estate) {
    let tables = TABLES.map(|table| format!("shardid.{table}")).join(", ");
    let rows = TABLES.map(|table| {
        format!("INSERT INTO shardid.{table} OVERRIDING SYSTEM VALUE TABLE older.{table}")
    });
    estate.psql("pg1", &format!("BEGIN; TRUNCATE {tables}; {}; COMMIT", rows.join("; ")));
    estate.psql("pg1", "DROP SCHEMA older CASCADE");
}

fn is_as_the_file_says(estate: &Estate) {
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
}

fn map_version(estate: &Estate) -> String {
    let map = estate.run(&["map", "--format", "json"]).ok();
    let version = map.lines().find(|line| line.contains("\"version\"")).expect("it has one");
    version.chars().filter(char::is_ascii_digit).collect()
}

#[test]
fn a_lost_catalogue_is_made_anew_from_the_nodes_above_all_that_was_counted() {
    let estate = Estate::start(2, 4);
    for shard in 0..4 {
        estate.make_tables(shard);
    }
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let homes: Vec<String> = (0..4).map(|shard| estate.home(shard)).collect();
    estate.psql(
        "pg1",
        "DROP TABLE shardid.catalog, shardid.catalog_history, shardid.node, shardid.map, \
         shardid.map_history, shardid.move, shardid.leftover, shardid.move_log, \
         shardid.ticket_node, shardid.ticket_server, shardid.ticket_change CASCADE",
    );
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
fn a_catalogue_from_an_older_backup_is_brought_up_to_the_nodes() {
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

#[test]
fn a_catalogue_that_another_one_took_over_from_changes_nothing_more() {
    let estate = Estate::start(2, 4);
    let path = estate.folder().join("shardid.toml");
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, text.replace("catalog = \"pg1\"", "catalog = \"pg2\"")).expect("it is ours");
    let refused = estate.run(&["plan"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    is_as_the_file_says(&estate);
    // Somebody still has the old file.
    fs::write(&path, text).expect("it is ours");
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("is the catalogue no more"), "{refused}");
    let refused = estate.run(&["move", "0", "--to", "pg2", "--yes"]).refused();
    assert!(refused.contains("version 1000000001, and the catalogue has 1"), "{refused}");
}
