//! Nodes come and go: the journal outlives them.

use std::fs;

use shardid_tests::estate::{DATABASE, Estate};

use crate::gone::shard_on;

/// The cluster file without a node, or with one more name for a server.
fn declare(estate: &Estate, nodes: &[(&str, &str)]) {
    declare_of(estate, 4, nodes);
}

pub(crate) fn declare_of(estate: &Estate, shards: u32, nodes: &[(&str, &str)]) {
    let mut text = format!("[cluster]\nname = \"photos\"\nshards = {shards}\ncatalog = \"pg1\"\n");
    for (name, server) in nodes {
        let url = estate.node(server).url(DATABASE);
        text.push_str(&format!("\n[nodes.{name}]\nurl = \"{url}\"\n"));
    }
    fs::write(estate.folder().join("shardid.toml"), text).expect("the folder is ours");
}

#[test]
fn a_node_can_go_once_no_move_needs_it_and_one_database_is_one_node() {
    let estate = Estate::start(2, 4);
    // One server under two names: a move between them would copy a shard onto itself.
    declare(&estate, &[("pg1", "pg1"), ("pg2", "pg2"), ("pg3", "pg1")]);
    let refused = estate.run(&["move", "0", "--to", "pg3", "--yes"]).refused();
    assert!(refused.contains("nodes pg1 and pg3 are one database"), "{refused}");
    declare(&estate, &[("pg1", "pg1"), ("pg2", "pg2")]);
    estate.run(&["drain", "pg2", "--yes"]).ok();
    declare(&estate, &[("pg1", "pg1")]);
    let refused = estate.run(&["apply", "--yes"]).refused();
    let moves =
        estate.psql("pg1", "SELECT string_agg(move::text, ', ' ORDER BY move) FROM shardid.move");
    assert!(refused.contains(&format!("but moves {moves} need it")), "{refused}");
    let found = estate.run(&["verify"]).stdout;
    let says = format!(
        "put [nodes.pg2] into the file: `shardid moves` shows moves {moves}, which need it"
    );
    assert!(found.contains(&says), "{found}");
    declare(&estate, &[("pg1", "pg1"), ("pg2", "pg2")]);
    estate.run(&["retire", "--all", "--yes"]).ok();
    declare(&estate, &[("pg1", "pg1")]);
    estate.run(&["apply", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", "SELECT string_agg(node, ',') FROM shardid.node"), "pg1");
    // What it took part in is still told.
    let told = estate.run(&["moves"]).ok();
    assert!(told.contains("pg2"), "{told}");
    let plan = estate.run(&["plan"]);
    assert!(
        plan.code == 0 && plan.stdout.contains("nothing to do"),
        "{}{}",
        plan.stdout,
        plan.stderr
    );
    // Its name is free, but not for one that it has exchanged shards with.
    let as_pg2 = fs::read_to_string(estate.folder().join("shardid.toml")).unwrap();
    let as_pg2 = as_pg2.replace("nodes.pg1", "nodes.pg2").replace("\"pg1\"", "\"pg2\"");
    fs::write(estate.folder().join("shardid.toml"), as_pg2).unwrap();
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(
        refused.contains("the journal has moves between it and an earlier node pg2"),
        "{refused}"
    );
}

/// It was said to be swapped with the database that has its name by now, and no word led on.
#[test]
fn a_database_that_has_left_comes_back_under_another_name_where_it_is_empty() {
    let estate = Estate::start(3, 6);
    let one = [("pg1", "pg1"), ("pg2", "pg2")];
    for word in [&["drain", "pg3", "--yes"][..], &["retire", "--all", "--yes"]] {
        estate.run(word).ok();
    }
    declare_of(&estate, 6, &one);
    estate.run(&["apply", "--yes"]).ok();
    // Another database gets the name, and a shard.
    estate.node("pg3").psql("postgres", "CREATE DATABASE other");
    let write = |more: &str| {
        declare_of(&estate, 6, &one);
        let path = estate.folder().join("shardid.toml");
        let text = fs::read_to_string(&path).unwrap();
        let url = estate.node("pg3").url("other");
        fs::write(path, format!("{text}\n[nodes.pg3]\nurl = \"{url}\"\n{more}")).unwrap();
    };
    write("");
    estate.run(&["apply", "--yes"]).ok();
    estate.run(&["move", "0", "--to", "pg3", "--yes"]).ok();
    let old = format!("\n[nodes.old]\nurl = \"{}\"\n", estate.node("pg3").url(DATABASE));
    // What has a shard of that time does not.
    estate.psql("pg3", "DELETE FROM shardid.shard WHERE shard = 5; SELECT create_shard(5)");
    write(&old);
    let refused = estate.run(&["apply", "--yes"]).refused();
    let says = "the database at old's address is node pg3 of this cluster";
    assert!(refused.contains(says) && !refused.contains("swapped"), "{refused}");
    assert!(refused.contains("leave old out of the cluster file"), "{refused}");
    estate.psql("pg3", "SELECT drop_shard(5)");
    estate.run(&["apply", "--yes"]).ok();
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    estate.run(&["move", "1", "--to", "old", "--yes"]).ok();
    estate.psql("pg3", "SELECT next_id(1)");
    assert_eq!(estate.node("pg3").psql("other", "SELECT count(next_id(0))"), "1");
    estate.run(&["verify"]).ok();
}

/// Each was said to have lost rows, by a `retire --accept-loss` that drops the shard's copy.
#[test]
fn nodes_whose_addresses_are_swapped_are_said_to_be_and_nothing_else_of_their_moves() {
    let estate = Estate::start(3, 6);
    let (shard, _) = shard_on(&estate, "pg2");
    let number = shard.to_string();
    estate.run(&["move", &number, "--to", "pg3", "--yes"]).ok();
    let id = estate.last_move(shard);
    let back = ["rollback", &id, "--yes"];
    for cut in [None, Some("switched/before-OpenTarget")] {
        if let Some(place) = cut {
            estate.run_cut(place, &back);
        }
        declare_of(&estate, 6, &[("pg1", "pg1"), ("pg2", "pg3"), ("pg3", "pg2")]);
        let moves = estate.run(&["moves"]);
        for (node, other) in [("pg2", "pg3"), ("pg3", "pg2")] {
            let says = format!(
                "the database at {node}'s address is node {other} of this cluster: look at `url` of nodes {node} and {other}: they seem to be swapped"
            );
            assert_eq!(moves.stderr.matches(&says).count(), 1, "{moves:?}");
        }
        assert!(!moves.stderr.contains("`shardid "), "{moves:?}");
        let json = estate.run(&["moves", "--json"]).ok();
        assert!(json.contains("they seem to be swapped") && !json.contains("--accept"), "{json}");
        declare_of(&estate, 6, &[("pg1", "pg1"), ("pg2", "pg2"), ("pg3", "pg3")]);
        let moves = estate.run(&["moves"]);
        assert!(!moves.stderr.contains("swapped"), "{moves:?}");
    }
    estate.run(&["resume", &estate.last_move(shard)]).ok();
}

/// It could neither be retired nor taken out of the file, and `apply` was refused for ever.
#[test]
fn a_node_with_old_copies_that_never_comes_back_can_go() {
    let estate = Estate::start(3, 6);
    estate.run(&["drain", "pg3", "--yes"]).ok();
    let two = [("pg1", "pg1"), ("pg2", "pg2")];
    let refused = estate.run(&["retire", "--all", "--gone", "pg3", "--yes"]).refused();
    assert!(refused.contains("node pg3 answers"), "{refused}");
    estate.node("pg3").kill9();
    let refused = estate.run(&["retire", "--all", "--yes"]).refused();
    assert!(refused.contains("--gone pg3`"), "{refused}");
    declare_of(&estate, 6, &two);
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("`shardid retire --all --gone pg3`"), "{refused}");
    let moves = estate.psql("pg1", "SELECT move FROM shardid.move ORDER BY 1");
    let first = moves.lines().next().expect("there were some").to_owned();
    // Of one that is not in the file `moves` says what the other node says.
    let slot = format!("shardid_back_{first}");
    let drop = format!(
        "SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots WHERE slot_name = '{slot}'"
    );
    let dropped: Vec<String> =
        two.iter().map(|(node, _)| estate.psql(node, &drop)).filter(|n| n == "1").collect();
    assert_eq!(dropped.len(), 1);
    let moves = estate.run(&["moves"]);
    let line = moves.stdout.lines().find(|line| line.trim_start().starts_with(&first));
    assert!(line.is_some_and(|line| line.ends_with("kept")), "{moves:?}");
    assert!(moves.stderr.contains(&format!("slot {slot} is gone")), "{moves:?}");
    let instead =
        format!("`shardid retire {first}`, once [nodes.pg3] is in the cluster file again");
    assert!(moves.stderr.contains(&instead), "{moves:?}");
    let refused = estate.run(&["retire", &first, "--gone", "pg2", "--yes"]).refused();
    assert!(refused.contains("is on pg3, not on pg2"), "{refused}");
    // Nobody had looked whether it was gone, and it may have had rows that the shard had lost.
    for of in ["--all", &first] {
        let refused = estate.run(&["retire", of, "--gone", "pg3", "--yes"]).refused();
        assert!(refused.contains("node pg3 is not taken for gone"), "{refused}");
        assert!(refused.contains("put [nodes.pg3] back with the address"), "{refused}");
    }
    declare_of(&estate, 6, &[two[0], two[1], ("pg3", "pg3")]);
    let told = estate.run(&["retire", "--all", "--gone", "pg3", "--dry-run"]).ok();
    assert!(told.contains("forget the old copy of shard"), "{told}");
    // One that is cut goes on.
    estate.run_cut("gone/slot", &["retire", &first, "--gone", "pg3", "--yes"]);
    estate.run(&["retire", "--all", "--gone", "pg3", "--yes"]).ok();
    estate.run(&["retire", &first, "--gone", "pg3", "--yes"]).ok();
    declare_of(&estate, 6, &two);
    estate.run(&["apply", "--yes"]).ok();
    estate.run(&["verify"]).ok();
    for (node, _) in two {
        assert_eq!(estate.psql(node, "SELECT count(*) FROM pg_replication_slots"), "0");
        assert_eq!(estate.psql(node, "SELECT count(*) FROM pg_publication"), "0");
    }
    // A shard that was there goes on.
    let shard: u32 = estate
        .psql("pg1", &format!("SELECT shard FROM shardid.move WHERE move = {first}"))
        .parse()
        .expect("a number");
    let to = if estate.home(shard) == "pg1" { "pg2" } else { "pg1" };
    estate.run(&["move", &shard.to_string(), "--to", to, "--yes"]).ok();
}

#[test]
fn a_node_that_an_apply_was_cut_over_is_refused_as_a_target_until_the_next_apply() {
    let estate = Estate::start(3, 6);
    estate.make_tables(0);
    let whole = |estate: &Estate| {
        let plan = estate.run(&["plan"]);
        assert!(plan.stdout.contains("nothing to do"), "{}{}", plan.stdout, plan.stderr);
        estate.assert_no_trace(0);
        estate.assert_no_streams();
    };
    estate.run(&["drain", "pg3", "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    // The roles by which servers follow each other are theirs, and outlive the database.
    for place in ["apply/before-Shards-pg3", "apply/before-Extension-pg3"] {
        let server = estate.node("pg3");
        server.psql("postgres", &format!("DROP DATABASE {DATABASE} WITH (FORCE)"));
        server.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
        estate.run_cut(place, &["apply", "--yes"]);
        let run = estate.run(&["move", "0", "--to", "pg3", "--yes"]);
        let last = estate.last_move(0);
        let refused = run.refused();
        assert!(refused.contains("`shardid apply`"), "{place}: {refused}");
        assert_eq!(last, "", "{place}: nothing was begun");
        estate.run(&["apply", "--yes"]).ok();
        whole(&estate);
    }
}

#[test]
fn a_node_that_was_told_by_a_move_only_takes_a_shard() {
    let estate = Estate::start(3, 6);
    estate.make_tables(0);
    estate.make_tables(2);
    estate.run(&["drain", "pg3", "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    let server = estate.node("pg3");
    server.psql("postgres", &format!("DROP DATABASE {DATABASE} WITH (FORCE)"));
    server.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
    estate.run_cut("apply/before-Shards-pg3", &["apply", "--yes"]);
    // A move between two others tells it of all that are elsewhere.
    let shard = 2;
    let to = if estate.home(shard) == "pg1" { "pg2" } else { "pg1" };
    estate.run(&["move", "2", "--to", to, "--yes"]).ok();
    assert_eq!(estate.psql("pg3", "SELECT count(*) FROM shardid.shard"), "6");
    estate.run(&["move", "0", "--to", "pg3", "--yes"]).ok();
    assert_eq!(estate.home(0), "pg3");
    assert_eq!(estate.psql("pg3", "SELECT count(shard_0000.next_id())"), "1");
    estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.run(&["apply", "--yes"]).ok();
    let plan = estate.run(&["plan"]);
    assert!(plan.stdout.contains("nothing to do"), "{}{}", plan.stdout, plan.stderr);
    estate.assert_no_trace(0);
    estate.assert_no_streams();
}

#[test]
fn a_node_with_a_new_name_keeps_its_shards_and_its_old_copies_follow_on() {
    let estate = Estate::start(2, 4);
    for shard in 0..4 {
        estate.make_tables(shard);
    }
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg2").expect("it has some");
    let number = shard.to_string();
    let named: &[_] = &[("pg1", "pg1"), ("db2", "pg2")];
    // Not while a move is unfinished, which has it by the old name.
    estate.run_cut("fenced/before-next", &["move", &number, "--to", "pg1", "--yes"]);
    let stands = estate.last_move(shard);
    declare(&estate, named);
    let refused = estate.run(&["apply", "--yes"]).refused();
    assert!(refused.contains(&format!("node pg2 cannot become db2 now: move {stands} needs it")));
    assert!(refused.contains("put [nodes.pg2] back"), "{refused}");
    declare(&estate, &[("pg1", "pg1"), ("pg2", "pg2")]);
    estate.run(&["resume", &stands]).ok();

    // Cut between the catalog and the node; commands in between say what to do.
    declare(&estate, named);
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains("~ db2: renamed from pg2"), "{plan}");
    estate.run_cut("apply/before-Shards-db2", &["apply", "--yes"]);
    let other = (0..4).find(|other| estate.home(*other) == "db2").expect("one is left there");
    let other = other.to_string();
    let between = estate.run(&["move", &other, "--to", "pg1", "--yes"]).refused();
    assert!(between.contains("shardid apply"), "{between}");
    estate.run(&["apply", "--yes"]).ok();
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    let names = "SELECT c.node || ' ' || string_agg(DISTINCT s.node, ',' ORDER BY s.node) \
                 FROM shardid.cluster c, shardid.shard s GROUP BY c.node";
    assert_eq!(estate.psql("pg1", names), "pg1 db2,pg1");
    assert_eq!(estate.node("pg2").psql(DATABASE, names), "db2 db2,pg1");

    // Whatever table has a node's name: only what tells of earlier times has the old one.
    let left = "SELECT coalesce(string_agg(c.relname || '.' || a.attname, ', ' ORDER BY 1), '') \
                FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
                WHERE c.relnamespace = 'shardid'::regnamespace AND c.relkind = 'r' \
                    AND query_to_xml(format('SELECT 1 AS one FROM shardid.%I WHERE %I::text ~ ''\\ypg2\\y''', c.relname, a.attname), true, false, '')::text ~ '<row'";
    assert_eq!(estate.psql("pg1", left), "map_history.change");
    assert_eq!(estate.node("pg2").psql(DATABASE, left), "");

    // The old copy follows on, and the way back is open.
    estate.psql("pg1", &format!("INSERT INTO shard_{shard:04}.item (n) VALUES (7)"));
    estate.run(&["rollback", &stands, "--yes"]).ok();
    assert_eq!(estate.home(shard), "db2");
    estate.run(&["verify", "--data"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.assert_no_streams();

    // The journal tells one node from another that had its name before.
    let numbers = "SELECT string_agg(DISTINCT n.number || ' ' || m.source, ',') FROM shardid.move m \
                   JOIN shardid.node n ON n.number = m.source_number WHERE m.source <> 'pg1'";
    assert_eq!(estate.psql("pg1", numbers), "2 db2");
}

/// It said that nothing was found, on the nodes of the file.
#[test]
fn verify_names_a_node_that_the_cluster_file_leaves_out() {
    let estate = Estate::start(2, 4);
    estate.run(&["verify"]).ok();
    declare(&estate, &[("pg1", "pg1")]);
    let found = estate.run(&["verify"]);
    let says = "pg2: it is in the catalog, and not in the cluster file: nobody has looked at it: put [nodes.pg2] into the file: shards live there by the map\n";
    assert_eq!((found.code, found.stdout.as_str()), (1, says), "{}", found.stderr);
    // By another name it was looked at.
    declare(&estate, &[("pg1", "pg1"), ("paris", "pg2")]);
    let found = estate.run(&["verify"]).stdout;
    assert!(!found.contains("nobody has looked at it"), "{found}");
}

/// It was not on disk where the server has commits be asynchronous, and a crash took it back.
#[test]
fn what_a_node_was_told_of_the_map_is_on_disk() {
    let estate = Estate::start_with(4, 4, |number, server| match number {
        4 => server.conf("synchronous_commit = off").conf("wal_writer_delay = 10s"),
        _ => server,
    });
    let (shard, _) = shard_on(&estate, "pg2");
    for _ in 0..2 {
        let other = if estate.home(shard) == "pg2" { "pg3" } else { "pg2" };
        estate.run(&["move", &shard.to_string(), "--to", other, "--no-rollback", "--yes"]).ok();
        estate.node("pg4").kill9();
        estate.servers[3].start();
        let says = format!("SELECT node FROM shardid.shard WHERE shard = {shard}");
        assert_eq!(estate.psql("pg4", &says), other);
        estate.run(&["retire", "--all", "--yes"]).ok();
    }
}
