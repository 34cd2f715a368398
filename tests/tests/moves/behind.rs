//! The catalog has lost its last transactions, as a standby that was promoted without synchronous
//! replication has, while a move was under way.

use shardid_cluster::{MoveKind, MoveState};
use shardid_tests::estate::Estate;
use shardid_tests::sample;

use crate::catalog::{back_up, is_as_the_file_says, restore};
use crate::matrix::places;

/// How many cases `make test` draws by the seed.
const SAMPLE: usize = 2;

/// What the catalog knows still, and where the move was when its program died.
struct Case {
    kind: MoveKind,
    older: String,
    place: String,
}

/// Every state with every place after it.
fn all_cases() -> Vec<Case> {
    use MoveState::{Copying, Fenced, Following, Planned, Switched};
    let of_a_move = [Planned, Copying, Following, Fenced, Switched];
    let of_a_rollback = [Planned, Following, Fenced, Switched];
    let mut cases = Vec::new();
    for (kind, states) in
        [(MoveKind::Copy, &of_a_move[..]), (MoveKind::Rollback, &of_a_rollback[..])]
    {
        let places = places(kind, states);
        for (n, older) in places.iter().enumerate() {
            if older.ends_with("/after-next") {
                cases.extend(places[n + 1..].iter().map(|place| Case {
                    kind,
                    older: older.clone(),
                    place: place.clone(),
                }));
            }
        }
    }
    cases
}

/// Says what `verify` says, until it finds nothing.
pub(crate) fn follow_verify(estate: &Estate) {
    let said = estate.run(&["verify"]).stdout;
    for line in said.lines().filter(|line| !line.starts_with("OK: ")) {
        let (node, mend) = (&line[..3], line.rsplit_once(": `").expect("a command").1);
        for statement in mend.trim_end_matches('`').split("; ") {
            estate.psql(node, statement);
        }
    }
    let said = estate.run(&["verify"]).stdout;
    assert_eq!(said, "OK: 15 checks on 2 nodes\n");
}

/// The move goes on, or is taken back, or the map comes from the nodes: as the program's own words say.
fn mend(estate: &Estate, id: &str) {
    let resumed = estate.run(&["resume", id]);
    if resumed.code == 0 {
        return;
    }
    let plan = estate.run(&["plan"]);
    if plan.stderr.contains("`shardid catalog rebuild`") {
        estate.run(&["catalog", "rebuild", "--yes"]).ok();
        return;
    }
    assert_eq!(plan.code, 0, "{}{}", resumed.stderr, plan.stderr);
    let aborted = estate.run(&["abort", id, "--yes"]);
    assert_eq!(aborted.code, 0, "{}{}", resumed.stderr, aborted.stderr);
}

fn play(estate: &Estate, shard: u32, case: &Case) {
    let name = shard.to_string();
    estate.make_tables(shard);
    let (from, to) = match estate.home(shard).as_str() {
        "pg1" => ("pg1", "pg2"),
        _ => ("pg2", "pg1"),
    };
    let table = format!("shard_{shard:04}.item");
    let write = format!("INSERT INTO {table} (n) SELECT coalesce(max(n), 0) + 1 FROM {table}");
    estate.psql(from, &write);
    let command = ["move", &name, "--to", to, "--yes"];
    let id;
    let command = match case.kind {
        MoveKind::Copy => &command[..],
        MoveKind::Rollback => {
            estate.run(&command).ok();
            estate.psql(to, &write);
            id = estate.last_move(shard);
            &["rollback", &id, "--yes"]
        }
    };
    let rows = || -> u64 {
        let count = format!("SELECT count(*) FROM {table}");
        let on = |node| estate.node(node).try_psql("app", &count).unwrap_or_default();
        [on("pg1"), on("pg2")].iter().filter_map(|count| count.trim().parse().ok()).max().unwrap()
    };
    let before = rows();
    let mut held = estate.run_held_then_cut(&case.older, &case.place, command);
    back_up(estate);
    held.go_on();
    assert_eq!(held.end().code, -1);
    restore(estate);
    mend(estate, &estate.last_move(shard));
    is_as_the_file_says(estate);
    let home = estate.home(shard);
    let other = if home == "pg1" { "pg2" } else { "pg1" };
    estate.psql(&home, &write);
    assert!(estate.node(other).try_psql("app", &write).is_err(), "{other} takes writes");
    assert_eq!(rows(), before + 1);
    estate.run(&["retire", "--all", "--yes"]).ok();
    follow_verify(estate);
    estate.assert_no_streams();
    estate.run(&["move", &name, "--to", other, "--yes"]).ok();
    estate.psql(other, &write);
    estate.run(&["retire", "--all", "--yes"]).ok();
}

/// The shard was closed on both nodes, and `resume`, `abort`, `plan` and `rebuild` each named another.
#[test]
fn a_move_whose_last_transactions_the_catalog_has_lost_ends_open_on_one_node() {
    let cases = sample("catalog behind", all_cases(), SAMPLE);
    let estate = Estate::start(2, u32::try_from(cases.len()).expect("they are few"));
    for (shard, case) in (0..).zip(&cases) {
        eprintln!("{:?}: back at {}, cut at {}", case.kind, case.older, case.place);
        play(&estate, shard, case);
    }
}
