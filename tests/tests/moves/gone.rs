//! A node that a move needs never comes back.

use shardid_tests::estate::{DATABASE, Estate};

use crate::another_database::{copy, lead_astray};
use crate::catalog::shard_on_pg1;
use crate::nodes::declare_of;

/// A shard on a node that is not pg1, which keeps the catalog, and a statement that writes to it.
pub(crate) fn shard_on(estate: &Estate, node: &str) -> (u32, String) {
    shard_on_pg1(estate);
    let shard = (0..4).find(|shard| estate.home(*shard) == node).expect("it has some");
    let table = format!("shard_{shard:04}.item");
    (shard, format!("INSERT INTO {table} (n) SELECT coalesce(max(n), 0) + 1 FROM {table}"))
}

fn nothing_of_moves_is_on(estate: &Estate, node: &str) {
    let found = estate.psql(
        node,
        "SELECT 'publication ' || pubname FROM pg_publication
         UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots
         UNION ALL SELECT 'subscription ' || subname FROM pg_subscription",
    );
    assert_eq!(found, "", "left on {node}");
}

/// `abort` and `resume` wanted that node for ever, and the source kept WAL for it.
#[test]
fn a_move_is_given_up_without_a_target_that_never_comes_back() {
    let estate = Estate::start(3, 4);
    for (place, is_aborting) in [
        ("copying/after-AwaitCopy", false),
        ("fenced/before-next", false),
        ("following/before-next", true),
    ] {
        let (shard, write) = match place {
            "copying/after-AwaitCopy" => shard_on(&estate, "pg2"),
            _ => {
                let shard = (0..4).find(|shard| estate.home(*shard) == "pg2").expect("it has");
                let table = format!("shard_{shard:04}.item");
                (shard, format!("INSERT INTO {table} (n) SELECT max(n) + 1 FROM {table}"))
            }
        };
        estate.psql("pg2", &write);
        estate.run_cut(place, &["move", &shard.to_string(), "--to", "pg3", "--yes"]);
        let id = estate.last_move(shard);
        let gone = ["abort", &id, "--gone", "pg3", "--yes"];
        let refused = estate.run(&gone);
        assert!(refused.stderr.contains("node pg3 answers"), "{place}: {}", refused.stderr);
        assert_eq!(refused.code, 3, "{place}: {}", refused.stderr);
        // It answers where it does not let us in.
        let pg3 = estate.node("pg3");
        pg3.psql("postgres", &format!("ALTER DATABASE {DATABASE} ALLOW_CONNECTIONS false"));
        let refused = estate.run(&gone);
        assert!(refused.stderr.contains("node pg3 answers"), "{place}: {}", refused.stderr);
        pg3.psql("postgres", &format!("ALTER DATABASE {DATABASE} ALLOW_CONNECTIONS true"));
        // Or has no TLS, which is wanted.
        estate.declare(4, |number, url| match number {
            3 => format!("{url}{}sslmode=require", if url.contains('?') { '&' } else { '?' }),
            _ => url,
        });
        let refused = estate.run(&gone);
        assert!(refused.stderr.contains("node pg3 answers"), "{place}: {}", refused.stderr);
        estate.declare(4, |_, url| url);
        pg3.kill9();
        let refused = estate.run(&["abort", &id, "--gone", "pg2", "--yes"]);
        assert!(refused.stderr.contains("lives on pg2"), "{place}: {}", refused.stderr);
        let refused = estate.run(&["abort", &id, "--gone", "pg1", "--yes"]);
        assert!(refused.stderr.contains("takes no part in move"), "{place}: {}", refused.stderr);
        if is_aborting {
            let stands = estate.run(&["abort", &id, "--yes"]);
            assert_eq!(stands.code, 3, "{place}: {}", stands.stderr);
            let instead = format!("where pg3 never comes back: `shardid resume {id} --gone pg3`");
            assert!(stands.stderr.contains(&instead), "{place}: {}", stands.stderr);
            estate.run_cut("without/after-LowerFence", &["resume", &id, "--gone", "pg3"]);
            estate.run(&["resume", &id, "--gone", "pg3"]).ok();
        } else {
            let refused = estate.run(&["resume", &id, "--gone", "pg3"]);
            let instead = format!("`shardid abort {id} --gone pg3`");
            assert!(refused.stderr.contains(&instead), "{place}: {}", refused.stderr);
            estate.run_cut("without/aborting", &gone);
            estate.run(&gone).ok();
        }
        assert_eq!(estate.state(&id), "aborted", "{place}");
        nothing_of_moves_is_on(&estate, "pg2");
        estate.psql("pg2", &write);
        estate.servers[2].start();
        // It did come back, after all: with a copy that takes no writes, and that verify names.
        assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err(), "{place}");
        let found = estate.run(&["verify"]).stdout;
        assert!(found.contains(&format!("shard_{shard:04}")), "{place}: {found}");
        estate.psql("pg3", &format!("DROP SCHEMA shard_{shard:04} CASCADE"));
        for subscription in estate.psql("pg3", "SELECT subname FROM pg_subscription").lines() {
            estate.psql("pg3", &format!("ALTER SUBSCRIPTION {subscription} DISABLE"));
            estate
                .psql("pg3", &format!("ALTER SUBSCRIPTION {subscription} SET (slot_name = NONE)"));
            estate.psql("pg3", &format!("DROP SUBSCRIPTION {subscription}; DROP OWNED BY {subscription}; DROP ROLE {subscription}"));
        }
        estate.psql("pg3", "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
        for publication in estate.psql("pg3", "SELECT pubname FROM pg_publication").lines() {
            estate.psql("pg3", &format!("DROP PUBLICATION {publication}"));
        }
    }
}

/// The map had the shard on a node that was never opened: it was open nowhere, for ever.
#[test]
fn a_shard_that_was_switched_is_opened_without_a_source_that_never_comes_back() {
    for place in ["switched/before-GuardSource", "switched/before-OpenTarget"] {
        let estate = Estate::start(3, 4);
        let (shard, write) = shard_on(&estate, "pg2");
        estate.psql("pg2", &write);
        let next = format!("SELECT nextval('shard_{shard:04}.plain')");
        estate.psql(
            "pg2",
            &format!(
                "CREATE SEQUENCE shard_{shard:04}.plain AS int MAXVALUE 90 CYCLE; {next}; {next}"
            ),
        );
        let rows = format!("SELECT count(*), max(id) FROM shard_{shard:04}.item");
        let last = estate.psql("pg2", &rows);
        estate.run_cut(place, &["move", &shard.to_string(), "--to", "pg3", "--yes"]);
        let id = estate.last_move(shard);
        let said =
            estate.psql("pg2", &format!("SELECT last_value FROM shard_{shard:04}.shard_id_seq"));
        estate.node("pg2").kill9();
        let stands = estate.run(&["resume", &id]);
        assert_eq!(stands.code, 3, "{place}: {}", stands.stderr);
        let instead = format!("where pg2 never comes back: `shardid resume {id} --gone pg2`");
        assert!(stands.stderr.contains(&instead), "{place}: {}", stands.stderr);
        let refused = estate.run(&["resume", &id, "--gone", "pg3"]);
        assert!(refused.stderr.contains("lives on pg3"), "{place}: {}", refused.stderr);
        assert!(estate.node("pg3").try_psql(DATABASE, &next).is_err(), "{place}");
        estate.run_cut("without/after-OpenTarget", &["resume", &id, "--gone", "pg2"]);
        assert_eq!(estate.psql("pg3", &next), "3", "{place}");
        estate.run(&["resume", &id, "--gone", "pg2"]).ok();
        assert_eq!(estate.psql("pg3", &next), "4", "{place}");
        assert_eq!((estate.state(&id), estate.home(shard)), ("done".into(), "pg3".into()));
        assert_eq!(estate.psql("pg3", &rows), last, "{place}");
        estate.psql("pg3", &write);
        let id_now = estate.psql("pg3", &format!("SELECT max(id) FROM shard_{shard:04}.item"));
        let (id_now, said): (i64, i64) = (id_now.parse().unwrap(), said.parse().unwrap());
        assert!(id_now > said, "{place}: {id_now} is not above {said}");
        nothing_of_moves_is_on(&estate, "pg3");
        let moves = estate.run(&["moves"]);
        assert!(!moves.stderr.contains("shardid"), "{place}: {}", moves.stderr);
        // It has closed what it had, should it come back.
        estate.servers[1].start();
        assert!(estate.node("pg2").try_psql(DATABASE, &write).is_err(), "{place}");
    }
}

/// A server that says it has no such database was taken for one that has lost it: a word that is
/// wrong in the cluster file, or a database with another name, and its rows were given up.
#[test]
fn a_database_by_another_name_is_not_gone() {
    let estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.psql("pg2", &write);
    let number = shard.to_string();
    estate.run_cut("switched/before-GuardSource", &["move", &number, "--to", "pg3", "--yes"]);
    let id = estate.last_move(shard);
    let misspelt = |number: usize, url: String| match number {
        2 => url.replacen("/app", "/ap", 1),
        _ => url,
    };
    let postgres = |sql: &str| estate.node("pg2").psql("postgres", sql);
    let is_refused = |command: &str, words: &str, hint: &str| {
        let refused = estate.run(&[command, &id, "--gone", "pg2"]);
        assert_ne!(refused.code, 0, "{}", refused.stdout);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
        assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    };
    let correct = format!("correct `url` of node pg2, then `shardid resume {id}` without --gone");
    estate.declare(4, misspelt);
    is_refused("resume", "its server has its database, as app", &correct);
    // The port of another node's server, which has no such database, says nothing of it.
    let port = estate.node("pg3").port().to_string();
    let elsewhere = |number: usize, url: String| match number {
        2 => misspelt(2, url).replacen(&estate.node("pg2").port().to_string(), &port, 1),
        _ => url,
    };
    estate.declare(4, elsewhere);
    is_refused("resume", "another server answers at its address", &correct);
    // Of one that is not in the file nobody knows anything; it was opened on both.
    declare_of(&estate, 4, &[("pg1", "pg1"), ("pg3", "pg3")]);
    let back = "put [nodes.pg2] back with the address that it had";
    is_refused("resume", "node pg2 is not taken for gone: it is not in the cluster file", back);
    let stands = estate.run(&["resume", &id]).stderr;
    assert!(stands.contains("add [nodes.pg2]") && !stands.contains("--gone"), "{stands}");
    assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err());
    estate.declare(4, |_, url| url);
    let rename = |from: &str, to: &str| {
        postgres(&format!("ALTER DATABASE {from} ALLOW_CONNECTIONS false"));
        postgres(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname IN ('app', 'Läden')",
        );
        postgres(&format!("ALTER DATABASE {from} RENAME TO {to}"));
        postgres(&format!("ALTER DATABASE {to} ALLOW_CONNECTIONS true"));
    };
    rename("app", "\"Läden\"");
    is_refused("resume", "its server has its database, as Läden", &correct);
    // Where nobody may look into a database, it may be that one.
    postgres("ALTER DATABASE \"Läden\" ALLOW_CONNECTIONS false");
    is_refused(
        "resume",
        "may have its database by another name",
        "let the role in `url` of node pg2 connect to each database of that server",
    );
    rename("\"Läden\"", "app");
    estate.run(&["resume", &id]).ok();
    // An old copy is looked for in the same way.
    estate.declare(4, misspelt);
    let correct = format!("correct `url` of node pg2, then `shardid retire {id}` drops");
    is_refused("retire", "its server has its database, as app", &correct);
    estate.declare(4, |_, url| url);
    let back = estate.psql("pg2", "SELECT subname FROM pg_subscription");
    for what in [
        format!("ALTER SUBSCRIPTION {back} DISABLE"),
        format!("ALTER SUBSCRIPTION {back} SET (slot_name = NONE)"),
        format!("DROP SUBSCRIPTION {back}"),
    ] {
        estate.psql("pg2", &what);
    }
    postgres("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
    postgres("DROP DATABASE app WITH (FORCE)");
    postgres("CREATE DATABASE another");
    estate.run(&["retire", &id, "--gone", "pg2", "--yes"]).ok();
}

/// `retire --gone` wanted the restored node to be adopted, and `apply --adopt` the one that was gone to answer.
#[test]
fn a_node_that_is_gone_keeps_no_other_from_being_adopted() {
    let estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.psql("pg2", &write);
    estate.run(&["drain", "pg2", "--yes"]).ok();
    let home = estate.home(shard);
    estate.node("pg2").kill9();
    copy(&estate, &home);
    lead_astray(&estate, home.trim_start_matches("pg").parse().expect("it is pg1 or pg3"));
    estate.run(&["retire", "--all", "--gone", "pg2", "--yes"]).ok();
    let mut text = std::fs::read_to_string(estate.folder().join("shardid.toml")).unwrap();
    let gone = text.find("[nodes.pg2]").expect("it is there");
    let next = text[gone..].find("[nodes.pg3]").expect("it comes after");
    text.replace_range(gone..gone + next, "");
    std::fs::write(estate.folder().join("shardid.toml"), text).unwrap();
    estate.run(&["apply", "--adopt", &home, "--yes"]).ok();
    estate.node(&home).psql("copy", &write);
    estate.run(&["verify"]).ok();
}
