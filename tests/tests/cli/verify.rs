//! Each fault that `verify` knows is planted; it finds that one and nothing
//! else, and what it says to do mends it.

use shardid_tests::{Clock, Database, Server};

use crate::cluster::Cluster;

/// The one finding on a cluster, in full.
#[track_caller]
pub(crate) fn finding(cluster: &Cluster, arguments: &[&str]) -> String {
    let run = cluster.run(&[&["verify"], arguments].concat());
    assert_eq!(run.code, 1, "{}\n{}", run.stdout, run.stderr);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    assert_eq!(run.stderr, "");
    run.stdout.trim_end().to_owned()
}

/// Carries out the statement that a finding ends with.
#[track_caller]
pub(crate) fn mend(finding: &str, on: &Database<'_>) {
    let statement = finding.strip_suffix('`').and_then(|text| text.rsplit_once('`'));
    let (_, statement) = statement.unwrap_or_else(|| panic!("no statement at the end: {finding}"));
    on.psql(statement);
}

#[track_caller]
pub(crate) fn finds_nothing(cluster: &Cluster) {
    let nodes = cluster.nodes.len();
    let said = cluster.run(&["verify", "--data"]).ok();
    assert_eq!(said, format!("OK: 17 checks on {nodes} nodes\n"));
}

/// Two nodes with four shards, and a table in shards 1 and 3.
pub(crate) fn photos() -> Cluster {
    let cluster = Cluster::applied(2, 4);
    for (node, shard) in [(0, 1), (1, 3)] {
        cluster.nodes[node].psql(&format!(
            "CREATE TABLE shard_000{shard}.photos
                 (id bigint PRIMARY KEY DEFAULT shard_000{shard}.next_id(), title text);
             INSERT INTO shard_000{shard}.photos (title) SELECT 'x' FROM generate_series(1, 100)"
        ));
    }
    cluster
}

#[test]
fn a_healthy_cluster_has_nothing_to_find_and_is_not_changed() {
    let cluster = photos();
    let node = &cluster.nodes[1];
    node.psql(
        "CREATE TABLE shard_0002.a (id bigint PRIMARY KEY DEFAULT next_id(2), n bigserial);
         SELECT create_id_sequence('shard_0002.own', 2);
         CREATE TABLE shard_0002.b (id bigint PRIMARY KEY DEFAULT next_id_from('shard_0002.own'));
         CREATE TABLE shard_0002.c (id bigint PRIMARY KEY DEFAULT nextval('shard_0002.shard_id_seq'));
         CREATE TABLE shard_0002.d (id bigint DEFAULT next_id(2)) PARTITION BY RANGE (id);
         SELECT create_id_partitions('shard_0002.d', now() - '1 day'::interval, now() + '1 day'::interval, '1 day');
         INSERT INTO shard_0002.a DEFAULT VALUES; INSERT INTO shard_0002.b DEFAULT VALUES;
         INSERT INTO shard_0002.c DEFAULT VALUES; INSERT INTO shard_0002.d DEFAULT VALUES;",
    );
    let before = cluster.rows();
    finds_nothing(&cluster);
    let said = cluster.run(&["verify"]).ok();
    assert_eq!(said, "OK: 15 checks on 2 nodes\n");
    let json = cluster.run(&["verify", "--json"]).ok();
    assert!(json.contains("\"findings\": []"), "{json}");
    assert_eq!(cluster.rows(), before);
}

#[test]
fn a_node_that_is_down_is_a_finding_beside_those_on_the_others() {
    let cluster = photos();
    cluster.edit(&cluster.nodes[1].url(), "postgres://postgres@127.0.0.1:1/app");
    let found = finding(&cluster, &["--data"]);
    assert!(found.starts_with("pg2: could not reach node pg2 at "), "{found}");
    assert!(found.contains("`shardid status`"), "{found}");
    cluster.nodes[0].psql("ALTER TABLE shard_0001.photos ALTER id SET DEFAULT next_id(0)");
    let run = cluster.run(&["verify", "--json"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("\"check\": \"unreachable\""), "{}", run.stdout);
    assert!(run.stdout.contains("\"check\": \"foreign-defaults\""), "{}", run.stdout);
}

#[test]
fn a_shard_open_on_two_nodes_is_found() {
    let cluster = photos();
    cluster.nodes[0].psql("DELETE FROM shardid.shard WHERE shard = 3; SELECT create_shard(3)");
    let found = finding(&cluster, &[]);
    assert!(
        found.starts_with(
            "shard 3 is open on pg1 and on pg2: the one on pg1 was made there by itself: close it"
        ),
        "{found}"
    );
    mend(&found, &cluster.nodes[0]);
    finds_nothing(&cluster);
}

#[test]
fn a_shard_behind_a_fence_beside_its_open_home_is_found() {
    let cluster = photos();
    // As in a backup of its former home that was taken while a move had fenced it there.
    cluster.nodes[0].psql(
        "DELETE FROM shardid.shard WHERE shard = 3; SELECT create_shard(3);
         UPDATE shardid.shard SET state = 'fenced', map_version = 1 WHERE shard = 3",
    );
    // The move has ended since, and the map of all is as new as the shard.
    cluster.nodes[1].psql("UPDATE shardid.shard SET map_version = 2 WHERE shard = 3");
    cluster.nodes[0].psql(
        "UPDATE shardid.catalog SET map_version = 2;
         UPDATE shardid.map SET map_version = 2 WHERE shard = 3;
         INSERT INTO shardid.map_history (map_version, changed_by, change) VALUES (2, 'test', 'a move')",
    );
    for node in &cluster.nodes {
        node.psql("UPDATE shardid.cluster SET map_version = 2");
    }
    let refused = cluster.run(&["apply", "--yes"]);
    assert!(refused.stderr.contains("`shardid verify` says what closes it"), "{}", refused.stderr);
    let found = finding(&cluster, &[]);
    let says = "shard 3 is open on pg2, and on pg1 behind a fence: the one on pg1 is of an older map \
                (version 1, and 2 on pg2): close it";
    assert!(found.starts_with(says), "{found}");
    // A move that stands turns it into a guard.
    cluster.nodes[0].psql(
        "INSERT INTO shardid.move (shard, source, target, schema, way_back, planned_by, state)
             VALUES (3, 'pg1', 'pg2', 'shard_0003', true, 'test', 'fenced')",
    );
    let stands = finding(&cluster, &[]);
    assert!(stands.starts_with("move 1 of shard 3 stands fenced"), "{stands}");
    // Not by a map of an older time, which names the other one still.
    cluster.nodes[0].psql("UPDATE shardid.map SET node = 'pg1' WHERE shard = 3");
    let older = cluster.run(&["verify"]).stdout;
    assert!(older.starts_with(says), "{older}");
    cluster.nodes[0]
        .psql("UPDATE shardid.map SET node = 'pg2' WHERE shard = 3; DELETE FROM shardid.move");
    mend(&found, &cluster.nodes[0]);
    finds_nothing(&cluster);
    cluster.run(&["apply", "--yes"]).ok();
}

#[test]
fn two_nodes_that_are_one_database_are_found_and_two_of_one_server_are_fine() {
    let cluster = photos();
    cluster.declare(4, |node| match node {
        2 => format!("[nodes.pg3]\nurl = \"{}\"", cluster.nodes[0].url()),
        _ => String::new(),
    });
    let found = finding(&cluster, &[]);
    let says = "nodes pg1 and pg3 are one database, or one is a copy of the other: ";
    assert!(found.starts_with(says), "{found}");
    assert!(found.ends_with("correct `url` of node pg1 or pg3, then `shardid plan`"), "{found}");
}

#[test]
fn numbers_that_a_restored_server_may_have_forgotten_are_found() {
    let cluster = photos();
    let node = &cluster.nodes[1];
    node.psql("SELECT create_ticket('Odd ''name'), next_ticket('Odd ''name'), create_segment('orders', 10)");
    finds_nothing(&cluster);
    node.psql("UPDATE shardid.ticket SET history = '7/00000001'");
    let found = finding(&cluster, &[]);
    assert!(
        found.starts_with(
            "pg2: ticket Odd 'name stands at 1 since the server was restored or promoted"
        ),
        "{found}"
    );
    assert!(found.contains("`SELECT shardid.raise_ticket('Odd ''name', …);`"), "{found}");
    node.psql("SELECT shardid.raise_ticket('Odd ''name', 1000)");
    finds_nothing(&cluster);
    node.psql("UPDATE shardid.segment SET history = '7/00000001'");
    let found = finding(&cluster, &[]);
    assert!(found.starts_with("pg2: segment orders stands at 0 since"), "{found}");
    node.psql("SELECT shardid.raise_segment('orders', 1000)");
    finds_nothing(&cluster);
}

#[test]
fn copies_of_the_map_that_differ_are_found() {
    let cluster = photos();
    cluster.nodes[1].psql("UPDATE shardid.cluster SET map_version = 0");
    let found = finding(&cluster, &[]);
    assert_eq!(found, "pg2: has map version 0, and the catalog has 1: `shardid apply`");
    cluster.run(&["apply", "--yes"]).ok();
    finds_nothing(&cluster);

    cluster.nodes[1].psql("UPDATE shardid.shard SET node = 'pg7' WHERE shard = 1");
    let found = finding(&cluster, &[]);
    let words = "pg2: says that shard 1 lives on pg7, and the map says pg1: `shardid apply`";
    assert_eq!(found, words);
    cluster.run(&["apply", "--yes"]).ok();
    finds_nothing(&cluster);
}

#[test]
fn a_shard_that_is_on_no_node_is_found() {
    let cluster = photos();
    cluster.nodes[1]
        .psql("DELETE FROM shardid.shard WHERE shard = 2; DROP SCHEMA shard_0002 CASCADE");
    let found = finding(&cluster, &[]);
    assert!(
        found.starts_with("pg2: shard 2 should be here by the map, and is on no node: restore"),
        "{found}"
    );
    assert!(found.ends_with("then `shardid apply`"), "{found}");
    cluster.run(&["apply", "--yes"]).ok();
    finds_nothing(&cluster);

    cluster.nodes[1].psql("DROP SCHEMA shard_0002 CASCADE");
    let found = finding(&cluster, &[]);
    assert!(
        found.starts_with("pg2: shard 2 should be here, and its sequence is gone: restore"),
        "{found}"
    );
    cluster.nodes[1].psql("SELECT create_shard(2)");
    cluster.run(&["apply", "--yes"]).ok();
    finds_nothing(&cluster);
}

#[test]
fn a_function_of_the_name_next_id_may_be_given_any_number() {
    let cluster = photos();
    cluster.nodes[1].psql(
        "CREATE SCHEMA al; CREATE FUNCTION al.next_id(b bigint) RETURNS bigint LANGUAGE sql AS 'SELECT b';
         CREATE TABLE al.z (id bigint DEFAULT al.next_id(99999999999), n bigint DEFAULT al.next_id(9999999999))",
    );
    finds_nothing(&cluster);
}

#[test]
fn a_sequence_that_is_no_generator_is_found() {
    let cluster = photos();
    let node = &cluster.nodes[1];
    node.psql("ALTER SEQUENCE shard_0003.shard_id_seq INCREMENT 1");
    let found = finding(&cluster, &[]);
    let says =
        "pg2: sequence shard_0003.shard_id_seq is not the generator of shard 3, and gives no ids: ";
    assert!(found.starts_with(says), "{found}");
    mend(&found, node);
    node.psql("SELECT next_id(3)");
    finds_nothing(&cluster);

    node.psql("SELECT create_id_sequence('shard_0003.other', 3)");
    node.psql("ALTER SEQUENCE shard_0003.other MINVALUE 1");
    let found = finding(&cluster, &[]);
    let says =
        "pg2: sequence shard_0003.other is not an id sequence of shard 3, and gives no ids: ";
    assert!(found.starts_with(says), "{found}");
    mend(&found, node);
    node.psql("SELECT next_id_from('shard_0003.other')");
    finds_nothing(&cluster);

    // A dump's row that has the number of another sequence here.
    node.psql(
        "CREATE SEQUENCE s; UPDATE shardid.shard SET sequence = 's'::regclass WHERE shard = 3",
    );
    let found = finding(&cluster, &[]);
    assert!(found.starts_with("pg2: sequence public.s is not the generator of shard 3"), "{found}");
    assert!(found.contains(": `SELECT create_shard(3);` if it is another one's"), "{found}");
    node.psql("SELECT create_shard(3)");
    cluster.run(&["apply", "--yes"]).ok();
    node.psql("SELECT next_id(3)");
    finds_nothing(&cluster);
    // Whoever makes shards writes these rows, and no number of his hides the others.
    node.psql(
        "SELECT create_layout('big', '2026-01-01Z', '1 s', 2, 40000000000); ALTER SEQUENCE shard_0003.other INCREMENT 7;
         CREATE SEQUENCE sq; INSERT INTO shardid.id_sequence VALUES ('sq'::regclass, 2147483647, 'big')",
    );
    let found = cluster.run(&["verify"]).stdout;
    let says = "pg2: sequence public.sq is not an id sequence of shard 2147483647, and gives no ids: layout \"big\" is not there, or has no such shard";
    assert!(found.contains(says) && found.contains("sequence shard_0003.other is not"), "{found}");
}

#[test]
fn an_id_beyond_its_sequence_is_found_with_and_without_an_index() {
    let cluster = photos();
    let node = &cluster.nodes[1];
    for index in [true, false] {
        if !index {
            node.psql("ALTER TABLE shard_0003.photos DROP CONSTRAINT photos_pkey");
        }
        let id = node.psql(
            "INSERT INTO shard_0003.photos VALUES (next_id(3) + 1024 * 8192::bigint * 3600000) RETURNING id",
        );
        assert_eq!(cluster.run(&["verify"]).code, 0);
        let found = finding(&cluster, &["--data"]);
        let says = format!(
            "pg2: column id of shard_0003.photos has id {}, beyond what shard 3 has given out: ",
            id.lines().next().unwrap()
        );
        assert!(found.starts_with(&says), "{found}");
        node.psql("DELETE FROM shard_0003.photos WHERE id > id_at(now() + '1 minute'::interval)");
        finds_nothing(&cluster);
    }
    node.psql("INSERT INTO shard_0003.photos VALUES (next_id(3) + 1024 * 8192::bigint)");
    mend(&finding(&cluster, &["--data"]), node);
    finds_nothing(&cluster);
}

#[test]
fn ids_of_another_shard_or_layout_are_found() {
    let cluster = photos();
    let node = &cluster.nodes[1];
    for id in ["next_id(2)", "17", "-5"] {
        node.psql(&format!("INSERT INTO shard_0003.photos (id, title) VALUES ({id}, 'foreign')"));
        let found = finding(&cluster, &["--data"]);
        let says = "pg2: column id of shard_0003.photos has ids that are not of shard 3: 1 of those looked at, such as ";
        assert!(found.starts_with(says), "{found}");
        assert!(found.ends_with("`UPDATE shard_0003.photos SET id = DEFAULT WHERE …`"), "{found}");
        node.psql("UPDATE shard_0003.photos SET id = DEFAULT, title = 'x' WHERE title = 'foreign'");
        finds_nothing(&cluster);
    }
}

#[test]
fn a_column_too_small_for_ids_is_found() {
    let cluster = photos();
    for small in ["integer", "smallint"] {
        cluster.nodes[0]
            .psql(&format!("CREATE TABLE shard_0001.t (\"Id\" {small} DEFAULT next_id(1))"));
        let found = finding(&cluster, &[]);
        let says = format!("pg1: column \"Id\" of shard_0001.t takes ids, and is {small}: ");
        assert!(found.starts_with(&says), "{found}");
        mend(&found, &cluster.nodes[0]);
        finds_nothing(&cluster);
        cluster.nodes[0].psql("DROP TABLE shard_0001.t");
    }
}

#[test]
fn a_default_that_takes_ids_of_another_shard_is_found() {
    let cluster = photos();
    for default in ["next_id(2)", "shard_0002.next_id()", "next_id(0)"] {
        cluster.nodes[1]
            .psql(&format!("ALTER TABLE shard_0003.photos ALTER id SET DEFAULT {default}"));
        let found = finding(&cluster, &["--data"]);
        let from = if default.ends_with("(0)") { 0 } else { 2 };
        let says = format!(
            "pg2: column id of shard_0003.photos takes ids of shard {from}, in the schema of shard 3: "
        );
        assert!(found.starts_with(&says), "{found}");
        mend(&found, &cluster.nodes[1]);
        finds_nothing(&cluster);
    }
}

#[test]
fn a_primary_key_that_counts_by_itself_is_found() {
    let cluster = photos();
    for kind in
        ["serial", "bigint GENERATED ALWAYS AS IDENTITY", "int GENERATED BY DEFAULT AS IDENTITY"]
    {
        cluster.nodes[1].psql(&format!("CREATE TABLE shard_0002.t (id {kind} PRIMARY KEY)"));
        let found = finding(&cluster, &["--data"]);
        assert!(found.starts_with("pg2: primary key id of shard_0002.t "), "{found}");
        mend(&found, &cluster.nodes[1]);
        cluster.nodes[1].psql("INSERT INTO shard_0002.t DEFAULT VALUES");
        finds_nothing(&cluster);
        cluster.nodes[1].psql("DROP TABLE shard_0002.t");
    }
}

#[test]
fn clocks_more_than_a_second_apart_are_found() {
    let server = Server::builder().fsync(false).clock(Clock::Steerable).start();
    server.psql("postgres", "CREATE DATABASE app");
    let cluster = Cluster::of(2, 4);
    cluster.edit(&cluster.nodes[1].url(), &server.url("app"));
    cluster.run(&["apply", "--yes"]).ok();
    finds_nothing(&cluster);
    server.set_clock(-3.0);
    let found = finding(&cluster, &[]);
    assert!(
        found.starts_with("the clock of node pg1 is ")
            && found.contains(" ms ahead of that of pg2: "),
        "{found}"
    );
    server.set_clock(0.0);
    finds_nothing(&cluster);
}

#[test]
fn a_role_that_may_insert_and_may_not_take_ids_is_found_once() {
    let cluster = photos();
    let node = &cluster.nodes[1];
    // A name that has to be quoted.
    let plain = node.role("app");
    let role = format!("\"{plain} A\"");
    node.psql(&format!("ALTER ROLE {plain} RENAME TO {role}"));
    node.psql(&format!(
        "CREATE TABLE shard_0003.more (id bigint DEFAULT next_id(3));
         GRANT USAGE ON SCHEMA shard_0003 TO {role};
         GRANT INSERT ON ALL TABLES IN SCHEMA shard_0003 TO {role}"
    ));
    let found = finding(&cluster, &[]);
    let says = format!(
        "pg2: role {role} may insert into shard_0003.more, and may not take ids of shard 3, as a default of that table does: another default for column id of that table, of role "
    );
    assert!(found.starts_with(&says), "{found}");
    mend(&found, node);
    finds_nothing(&cluster);
    node.psql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn extension_versions_that_are_apart_are_found() {
    let cluster = photos();
    cluster.nodes[1].psql("UPDATE pg_extension SET extversion = '0.0.9' WHERE extname = 'shardid'");
    let found = finding(&cluster, &[]);
    assert_eq!(
        found,
        "pg2: has extension version 0.0.9, and other nodes have 0.2.0: `shardid apply`"
    );
}

#[test]
fn an_extension_in_another_schema_is_found() {
    let cluster = photos();
    cluster.nodes[1].psql(
        "DROP EXTENSION shardid CASCADE; CREATE SCHEMA ext; CREATE EXTENSION shardid SCHEMA ext",
    );
    let run = cluster.run(&["verify"]);
    let says = "the extension is in schema public on node pg1 and in schema ext on node pg2: no shard moves between them";
    assert!(run.code == 1 && run.stdout.contains(says), "{}", run.stdout);
}

#[test]
fn a_layout_that_ends_within_a_year_is_found_once_for_all_nodes() {
    let cluster = photos();
    for (node, shard) in [(0, 1), (1, 3)] {
        cluster.nodes[node].psql(&format!(
            "SELECT create_layout('short', '2026-01-01Z', '1 s', 8192, 1024, 40000000);
             SELECT create_id_sequence('shard_000{shard}.short', {shard}, 'short')"
        ));
    }
    let found = finding(&cluster, &[]);
    assert!(
        found.starts_with("layout short ends on 2027-04-08, and is in use on pg1, pg2: "),
        "{found}"
    );
    assert!(found.ends_with("`SELECT name, ends_at FROM shardid.layouts;`"), "{found}");
}

/// It called the node's shards lost, and sent its reader to look for backups.
#[test]
fn a_node_with_a_new_name_in_the_file_is_the_one_that_the_catalog_knows() {
    let cluster = photos();
    let names_it = |from: &str, to: &str| {
        let run = cluster.run(&["verify", "--data"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        let first = format!(
            "{to}: the catalog has it by the name {from}: `shardid apply` gives it its new one"
        );
        assert!(run.stdout.starts_with(&first), "{}", run.stdout);
        for line in run.stdout.lines() {
            assert!(line.contains("`shardid apply`"), "{}", run.stdout);
        }
        cluster.run(&["apply", "--yes"]).ok();
        finds_nothing(&cluster);
    };
    cluster.edit("[nodes.pg2]", "[nodes.paris]");
    names_it("pg2", "paris");
    cluster.edit("[nodes.pg1]", "[nodes.london]");
    cluster.edit("catalog = \"pg1\"", "catalog = \"london\"");
    names_it("pg1", "london");
}
