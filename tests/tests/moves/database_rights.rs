//! What moves grant and take away on a database, where not everybody may connect to it, and where others change rights on
//! it at the same time.

use std::thread;
use std::time::Duration;

use shardid_tests::estate::{Estate, schema};
use shardid_tests::wait_until;

use crate::behalf::MOVE;

/// What follows came into no database that not everybody may connect to, as where CONNECT is revoked from PUBLIC.
#[test]
fn a_database_need_not_let_everybody_connect() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    for node in ["pg1", "pg2"] {
        estate.psql(node, "REVOKE ALL ON DATABASE app FROM PUBLIC");
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY, n int)"));
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &format!("INSERT INTO {schema}.t SELECT next_id(0), 1"));
    let rows = format!("SELECT count(*) FROM {schema}.t");
    wait_until(Duration::from_secs(60), "the row in the old copy", || {
        estate.psql("pg1", &rows) == "1"
    });
    estate.run(&["rollback", "1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &rows), "1");
    estate.assert_no_streams();
    // Nor where that comes to be so while one follows.
    for node in ["pg1", "pg2"] {
        estate.psql(node, "GRANT CONNECT ON DATABASE app TO PUBLIC");
    }
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    for node in ["pg1", "pg2"] {
        estate.psql(node, "REVOKE ALL ON DATABASE app FROM PUBLIC");
    }
    estate.node("pg1").restart();
    estate.psql("pg2", &format!("INSERT INTO {schema}.t SELECT next_id(0), 2"));
    wait_until(Duration::from_secs(60), "the next row in the old copy", || {
        estate.psql("pg1", &rows) == "2"
    });
    estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();
    // Nor does a right of a role that is gone stay on the database.
    for node in ["pg1", "pg2"] {
        let left = "SELECT count(*) FROM pg_database, aclexplode(datacl) AS acl LEFT JOIN pg_roles r ON r.oid = acl.grantee WHERE datname = 'app' AND r.oid IS NULL";
        assert_eq!(estate.psql(node, left), "0");
    }
}

/// What grants on a database as somebody else does failed: moves at once failed of each other.
#[test]
fn a_right_on_the_database_that_somebody_grants_meanwhile_is_waited_for() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    let streams = "SELECT count(*) FROM pg_database, aclexplode(datacl) AS acl WHERE datname = 'app' AND acl.grantee::regrole::text ~ '^shardid_(move|back)_'";
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    // By a grant of its own, so that the old copy goes on following when nobody else may connect any more.
    assert_eq!(estate.psql("pg1", streams), "1");
    estate.run(&["rollback", "1", "--yes"]).ok();
    for node in ["pg1", "pg2"] {
        assert_eq!(estate.psql(node, streams), "0");
    }
    for node in ["pg1", "pg2"] {
        estate.psql(node, "CREATE ROLE alice; REVOKE ALL ON DATABASE app FROM PUBLIC");
    }
    let granting = |node: &str| {
        let mut client = estate.node(node).connect("app");
        client
            .batch_execute("BEGIN; GRANT TEMP ON DATABASE app TO alice")
            .expect("nobody is in its way");
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(2500));
            client.batch_execute("COMMIT").expect("it is open");
        })
    };
    let held = estate.run_held("copying/before-Subscribe", &MOVE);
    let other = granting("pg2");
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    other.join().expect("it has ended");
    let other = granting("pg1");
    estate.run(&["retire", &estate.last_move(0), "--yes"]).ok();
    other.join().expect("it has ended");
    estate.assert_no_streams();
    for node in ["pg1", "pg2"] {
        assert_eq!(estate.psql(node, streams), "0");
    }
}

/// Of moves that dropped their roles at once, the first was in a deadlock with the next one.
#[test]
fn roles_of_streams_that_are_dropped_at_once_go_one_after_another() {
    let estate = Estate::start(1, 2);
    estate.psql("pg1", "CREATE TABLE held ()");
    for role in ["shardid_move_1", "shardid_move_2"] {
        estate.psql(
            "pg1",
            &format!("CREATE ROLE {role}; GRANT CONNECT ON DATABASE app TO {role}; GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT ON held TO {role}"),
        );
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let mut other = estate.node("pg1").connect("app");
    // Both wait, and then change the rows of the table and the database at once.
    other.batch_execute("BEGIN; TRUNCATE held").unwrap();
    let dropped: Vec<_> = ["shardid_move_1", "shardid_move_2"]
        .into_iter()
        .zip(["1", "2"])
        .map(|(role, count)| {
            let mut client = estate.node("pg1").connect("app");
            let dropping = thread::spawn(move || {
                let statement = include_str!("../../../sql/postgres/move/stream/drop_role.sql");
                let row = client.query_one(statement, &[&role])?;
                client.batch_execute(row.get(0))
            });
            wait_until(Duration::from_secs(10), "it to wait", || {
                estate.psql("pg1", waiting) == count
            });
            dropping
        })
        .collect();
    other.batch_execute("COMMIT").unwrap();
    for dropping in dropped {
        dropping.join().expect("it has ended").expect("it waits its turn");
    }
    let left = "SELECT count(*) FROM pg_roles WHERE rolname ~ '^shardid_move'";
    assert_eq!(estate.psql("pg1", left), "0");
}

/// Who may make things in whatever schema the program's role makes made a table in one of a move's own, which then did not go.
#[test]
fn default_privileges_do_not_reach_the_schemas_of_a_move() {
    let estate = Estate::start(2, 2);
    for node in ["pg1", "pg2"] {
        estate.psql(
            node,
            "CREATE ROLE bob; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO bob, public",
        );
    }
    estate.psql("pg1", &format!("CREATE TABLE {}.t (id bigint PRIMARY KEY)", schema(0)));
    let held = estate.run_held("copying/before-AwaitCopy", &MOVE);
    for node in ["pg1", "pg2"] {
        let schemas = "SELECT count(*), count(*) FILTER (WHERE nspacl IS NULL OR has_schema_privilege('bob', oid, 'CREATE, USAGE') OR has_schema_privilege('public', oid, 'CREATE')) FROM pg_namespace WHERE nspname ~ '^shardid_move_'";
        let found = estate.psql(node, schemas);
        assert!(found.ends_with("|0") && !found.starts_with("0|"), "on {node}: {found}");
    }
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
}
