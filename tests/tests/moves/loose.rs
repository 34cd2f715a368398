//! A worker that applies what a copy follows by is known by the guards of its tables: nobody takes them from it, nor rows from
//! them, who may not do more than that anyway.

use shardid_tests::estate::{Estate, schema};
use shardid_tests::expect_error;

/// What leaves a table without its guards, or has a trigger keep rows from them, by which an owner's function is called in a
/// worker that nobody knows. `@` is the schema, where `p` is partitioned.
const LOOSE: [&str; 17] = [
    "DROP TRIGGER shardid_fence ON @.t",
    "DROP TRIGGER shardid_fence_rows ON @.t",
    "ALTER TABLE @.t DISABLE TRIGGER shardid_fence",
    "ALTER TABLE @.t DISABLE TRIGGER shardid_fence_rows",
    "ALTER TABLE @.t DISABLE TRIGGER USER",
    "ALTER TABLE @.t ENABLE TRIGGER shardid_fence_rows",
    "ALTER TABLE @.t ENABLE REPLICA TRIGGER shardid_fence",
    "ALTER TRIGGER shardid_fence_rows ON @.t RENAME TO zzz; DROP TRIGGER zzz ON @.t",
    "CREATE OR REPLACE TRIGGER shardid_fence_rows BEFORE INSERT ON @.t FOR EACH ROW EXECUTE FUNCTION @.skips()",
    "CREATE OR REPLACE TRIGGER shardid_fence BEFORE INSERT ON @.t EXECUTE FUNCTION @.skips()",
    "CREATE TRIGGER aaa BEFORE INSERT ON @.t FOR EACH ROW EXECUTE FUNCTION @.skips(); ALTER TABLE @.t ENABLE ALWAYS TRIGGER aaa",
    "CREATE TRIGGER zzz AFTER UPDATE ON @.t FOR EACH ROW EXECUTE FUNCTION @.skips(); ALTER TABLE @.t ENABLE REPLICA TRIGGER zzz",
    "CREATE TRIGGER aaa BEFORE TRUNCATE ON @.t EXECUTE FUNCTION @.skips(); ALTER TABLE @.t ENABLE ALWAYS TRIGGER aaa",
    "CREATE CONSTRAINT TRIGGER late AFTER DELETE ON @.t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION @.skips(); ALTER TABLE @.t ENABLE ALWAYS TRIGGER late",
    "CREATE TRIGGER aaa BEFORE INSERT ON @.p FOR EACH ROW EXECUTE FUNCTION @.skips(); ALTER TABLE @.p ENABLE ALWAYS TRIGGER aaa",
    "DO $$ BEGIN EXECUTE 'DROP TRIGGER shardid_fence_rows ON @.t'; END $$",
    // It would go with that.
    "ALTER TRIGGER shardid_fence_rows ON @.t DEPENDS ON EXTENSION plpgsql",
];

/// Where a superuser's session comes upon code of the owner's, as autovacuum does.
const RUN_BY_OTHERS: [&str; 2] = ["SELECT home.takes('')", "ANALYZE home.u"];

/// What an owner may do to a copy.
const FINE: [&str; 8] = [
    "ALTER TABLE @.t ADD COLUMN more int",
    "CREATE TRIGGER aaa BEFORE INSERT ON @.t FOR EACH ROW EXECUTE FUNCTION @.skips()",
    "ALTER TRIGGER shardid_fence ON @.t RENAME TO another",
    "CREATE INDEX ON @.t (x)",
    "CREATE TABLE @.another (id int); CREATE TRIGGER aaa BEFORE INSERT ON @.another FOR EACH ROW EXECUTE FUNCTION @.skips(); ALTER TABLE @.another ENABLE ALWAYS TRIGGER aaa",
    "COMMENT ON TABLE @.t IS 'a table'",
    "GRANT SELECT ON @.t TO PUBLIC",
    "DROP TABLE @.t",
];

fn estate() -> (Estate, String) {
    let estate = Estate::start(2, 4);
    let schema = schema(0);
    for node in estate.nodes() {
        let takes = "CREATE OR REPLACE FUNCTION home.takes(text) RETURNS int LANGUAGE plpgsql SECURITY DEFINER";
        estate.psql(
            &node,
            &format!(
                "CREATE ROLE one LOGIN; CREATE SCHEMA home AUTHORIZATION one; SET ROLE one;
                 {takes} IMMUTABLE AS 'BEGIN RETURN 1; END'; CREATE TABLE home.u (v text); CREATE INDEX ON home.u (home.takes(v));
                 INSERT INTO home.u VALUES ('a');
                 {takes} VOLATILE AS 'BEGIN ALTER TABLE {schema}.t DISABLE TRIGGER shardid_fence_rows; RETURN 1; END'"
            ),
        );
    }
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO one; SET ROLE one;
             CREATE FUNCTION {schema}.skips() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TABLE {schema}.t (id int PRIMARY KEY, x text);
             CREATE TABLE {schema}.p (id int PRIMARY KEY) PARTITION BY RANGE (id);
             CREATE TABLE {schema}.q PARTITION OF {schema}.p DEFAULT"
        ),
    );
    (estate, schema)
}

/// A statement about the tables of a schema.
fn about(statement: &str, schema: &str) -> String {
    statement.replace('@', schema)
}

fn assert_refused(client: &mut postgres::Client, statement: &str) {
    let words = expect_error(client, statement, "42501");
    assert!(words.message.contains("a copy of a shard"), "{statement}: {words:?}");
}

/// That an owner cannot take a copy's guards away, by a statement or in a transaction that is older than the copy.
fn assert_kept(estate: &Estate, node: &str, schema: &str, old: &mut postgres::Client) {
    for statement in LOOSE {
        let statement = about(statement, schema);
        let mut client = estate.node(node).connect("app");
        client.batch_execute("SET ROLE one").unwrap();
        assert_refused(&mut client, &statement);
    }
    let late = about(LOOSE[10], schema);
    assert_refused(old, &late);
    for statement in FINE {
        let statement = about(statement, schema);
        let mut client = estate.node(node).connect("app");
        client
            .batch_execute(&format!("SET ROLE one; BEGIN; {statement}; ROLLBACK"))
            .expect(&statement);
    }
    // Nor where a superuser's session runs code of theirs.
    let mut client = estate.node(node).connect("app");
    for code in RUN_BY_OTHERS {
        assert_refused(&mut client, code);
    }
    // A superuser may.
    let statement = about(LOOSE[1], schema);
    client.batch_execute(&format!("BEGIN; {statement}; ROLLBACK")).unwrap();
    // What others have done is in nobody's way.
    client.batch_execute(&about(LOOSE[2], schema)).unwrap();
    let mut owner = estate.node(node).connect("app");
    owner.batch_execute("SET ROLE one; CREATE TEMP TABLE mine (id int)").unwrap();
    assert_refused(&mut owner, &about("DROP TRIGGER shardid_fence_rows ON @.q", schema));
    let put_back = "ALTER TABLE @.t ENABLE ALWAYS TRIGGER shardid_fence";
    client.batch_execute(&about(put_back, schema)).unwrap();
}

/// A transaction of a plain owner's that sees nothing of what comes after it.
fn early(estate: &Estate, node: &str) -> postgres::Client {
    let mut client = estate.node(node).connect("app");
    client.batch_execute("SET ROLE one; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").unwrap();
    client
}

#[test]
fn nobody_takes_the_guards_from_a_copy_that_follows() {
    let (estate, schema) = estate();
    let moving = ["move", "0", "--to", "pg2", "--yes"];
    estate.run_cut("copying/before-Subscribe", &moving);
    let mut old = early(&estate, "pg2");
    let mut held = estate.run_held("following/before-Compare", &["resume", "1"]);
    assert_kept(&estate, "pg2", &schema, &mut old);
    let mut old = early(&estate, "pg1");
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert_kept(&estate, "pg1", &schema, &mut old);
    drop(old);
    // What lives here is its owner's.
    let mut client = estate.node("pg2").connect("app");
    client.batch_execute(&format!("SET ROLE one; {}", about(LOOSE[10], &schema))).unwrap();
    client.batch_execute(&about("DROP TRIGGER aaa ON @.t", &schema)).unwrap();
    estate.run(&["rollback", "1", "--yes"]).ok();
    let mut client = estate.node("pg1").connect("app");
    client.batch_execute(&format!("SET ROLE one; {}", about(LOOSE[10], &schema))).unwrap();
}

/// From when a shard is fenced, or its new copy is made, until it is over, whatever becomes of the move.
#[test]
fn guards_are_kept_whether_or_not_a_copy_follows() {
    let (estate, schema) = estate();
    let moving = ["move", "0", "--to", "pg2", "--yes"];
    let assert_kept = |node: &str| {
        for statement in LOOSE {
            let mut client = estate.node(node).connect_as("app", "one");
            assert_refused(&mut client, &about(statement, &schema));
        }
    };
    let held = estate.run_held("copying/before-Subscribe", &moving);
    assert_kept("pg2");
    // A superuser may, and is told.
    estate.psql("pg2", &about(LOOSE[10], &schema));
    let stands = held.let_go();
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    let words = format!("trigger aaa of {schema}.t would fire for rows that come to the copy");
    assert!(stands.stderr.contains(&words), "{}", stands.stderr);
    let mend = format!("ALTER TABLE {schema}.t ENABLE TRIGGER aaa;");
    assert!(stands.stderr.contains(&mend), "{}", stands.stderr);
    estate.psql("pg2", &format!("{mend} DROP TRIGGER aaa ON {schema}.t"));
    // What is gone before the stream begins is put back, on both ways.
    estate.psql("pg2", &about(LOOSE[0], &schema));
    let held = estate.run_held("fenced/before-AwaitDrained", &["resume", "1"]);
    assert_kept("pg1");
    assert_kept("pg2");
    let resumed = held.let_go();
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let back = |node: &str| format!("WARNING: on {node} the guard of {schema}.t was put back");
    assert!(resumed.stderr.contains(&back("pg2")), "{}", resumed.stderr);
    assert_eq!(estate.run(&["verify"]).code, 0);
    estate.psql("pg2", &format!("INSERT INTO {schema}.t VALUES (1, 'a')"));
    estate.run(&["rollback", "1", "--yes"]).ok();
    let held = estate.run_held("switched/before-OpenWayBack", &moving);
    assert_kept("pg1");
    estate.psql("pg1", &about(LOOSE[1], &schema));
    let moved = held.let_go();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert!(moved.stderr.contains(&back("pg1")), "{}", moved.stderr);
    let id = estate.last_move(0);
    estate.run(&["retire", &id, "--yes"]).ok();
    // A copy that is given up is no less guarded, and one that does not follow.
    estate.run_cut("copying/after-Subscribe", &["move", "0", "--to", "pg1", "--yes"]);
    let held = estate.run_held("gone/subscription", &["abort", &estate.last_move(0), "--yes"]);
    assert_kept("pg1");
    held.let_go().ok();
    estate.run(&["move", "0", "--to", "pg1", "--no-rollback", "--yes"]).ok();
    assert_kept("pg2");
}
