//! Looking without touching.

use std::time::Duration;

use shardid_tests::crowded;

use crate::cluster::Cluster;

#[test]
fn a_plan_touches_nothing_and_needs_no_right_to() {
    let cluster = Cluster::of(2, 8);
    let reader = cluster.nodes[0].role("reader");
    cluster.nodes[0].psql(&format!("GRANT pg_read_all_data TO {reader}"));
    cluster.edit("postgres://postgres@", &format!("postgres://{reader}@"));
    let before = cluster.rows();
    let text = cluster.run(&["plan"]).ok();
    assert!(text.contains("+ pg1: install shardid "), "{text}");
    assert!(text.contains("+ pg2: create 4 shards: 4-7"), "{text}");
    assert_eq!(text, cluster.run(&["apply", "--dry-run"]).ok());
    assert_eq!(before, cluster.rows());

    cluster.edit(&format!("postgres://{reader}@"), "postgres://postgres@");
    cluster.run(&["apply", "--yes"]).ok();
    cluster.edit("postgres://postgres@", &format!("postgres://{reader}@"));
    let before = cluster.rows();
    let text = cluster.run(&["plan"]).ok();
    assert!(text.contains("nothing to do"), "{text}");
    cluster.run(&["status"]).ok();
    cluster.run(&["map"]).ok();
    assert_eq!(before, cluster.rows());
    cluster.nodes[1].psql("DELETE FROM shardid.shard WHERE shard = 0");
    let error = cluster.run(&["apply", "--yes"]).refused();
    assert!(error.contains("permission denied"), "{error}");
}

/// Views in our schema were read with a superuser's rights, wherever the extension was not there yet.
#[test]
fn what_somebody_else_has_made_in_our_schema_is_named_and_not_read() {
    let cluster = Cluster::of(2, 8);
    let node = &cluster.nodes[1];
    let maker = node.role("maker");
    let reads = "SELECT pg_read_file('PG_VERSION')::int / 0";
    node.psql(&format!("GRANT CREATE ON DATABASE {} TO {maker}", node.name()));
    node.psql(&format!(
        "SET ROLE {maker}; CREATE SCHEMA shardid;
         CREATE VIEW shardid.shard AS {reads} AS shard; CREATE VIEW shardid.layout AS {reads} AS name;
         CREATE VIEW shardid.cluster AS {reads} AS name; CREATE VIEW shardid.tickets AS {reads} AS name;
         CREATE VIEW shardid.ticket AS {reads} AS name"
    ));
    let words = format!("pg2: schema shardid is role {maker}'s, and not the extension's");
    for command in ["plan", "verify", "status", "apply"] {
        let run = cluster.run(&[command]);
        assert_ne!(run.code, 0, "{command}: {}", run.stdout);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(&words), "{command}: {said}");
    }
    node.psql("ALTER SCHEMA shardid RENAME TO theirs");
    cluster.run(&["apply", "--yes"]).ok();
}

#[test]
fn the_server_itself_forbids_a_plan_to_write() {
    let cluster = Cluster::applied(1, 4);
    let reader = cluster.nodes[0].role("reader");
    // Whoever looks meets a function that wants to write.
    cluster.nodes[0].psql(&format!(
        "GRANT pg_read_all_data TO {reader};
         CREATE TABLE seen (at timestamptz);
         CREATE FUNCTION public.spy() RETURNS boolean LANGUAGE plpgsql
             AS $$ BEGIN INSERT INTO public.seen VALUES (now()); RETURN true; END $$;
         ALTER TABLE shardid.shard ENABLE ROW LEVEL SECURITY;
         CREATE POLICY spy ON shardid.shard USING (public.spy())"
    ));
    cluster.edit("postgres://postgres@", &format!("postgres://{reader}@"));
    let error = cluster.run(&["plan"]);
    assert!(error.stderr.contains("cannot execute INSERT in a read-only transaction"), "{error:?}");
}

#[test]
fn a_plan_as_json_is_what_apply_does() {
    let cluster = Cluster::of(2, 8);
    let text = cluster.run(&["plan", "--json"]).ok();
    let steps: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("\"do\": ")).collect();
    let expected = [
        "install_extension",
        "install_extension",
        "migrate_catalog",
        "write_node",
        "write_node",
        "write_map",
        "create_shards",
        "tell_node",
        "create_shards",
        "tell_node",
        "let_follow",
        "let_follow",
    ];
    assert_eq!(steps, expected.map(|step| format!("\"{step}\",")));
    assert!(text.contains("\"shards\": \"4-7\""), "{text}");
    cluster.run(&["apply", "--yes"]).ok();
    let text = cluster.run(&["plan", "--json"]).ok();
    assert!(text.contains("\"steps\": [],"), "{text}");

    cluster.edit("shards = 8", "shards = 9");
    let refused = cluster.run(&["plan", "--json"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("\"steps\": null"), "{}", refused.stdout);
    assert!(refused.stdout.contains("\"hint\": \"put `shards = 8` back"), "{}", refused.stdout);
}

#[test]
fn a_node_that_cannot_be_reached_is_named_in_bounded_time() {
    let cluster = Cluster::of(2, 4);
    // A port that takes connections and never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    cluster.edit(
        &cluster.nodes[1].url(),
        &format!("postgres://postgres@127.0.0.1:{port}/x?connect_timeout=1&sslmode=disable"),
    );
    let started = std::time::Instant::now();
    let error = cluster.run(&["plan"]).refused();
    assert!(started.elapsed() < crowded(Duration::from_secs(5)));
    assert!(
        error.contains(&format!(
            "could not reach node pg2 at 127.0.0.1:{port}/x: no answer within 1 s"
        )),
        "{error}"
    );
}
