//! What moves and by-hand tries left on the nodes is found by `verify`, which says what
//! removes it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::verify::{finding, finds_nothing, mend, photos};

/// Roles and origins are of the whole server, which these tests share: one of them at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn what_a_move_left_is_found_unless_the_journal_knows_it() {
    let _alone = alone();
    let cluster = photos();
    let node = &cluster.nodes[1];
    let plant = [
        (
            "slot",
            "shardid_back_7",
            "SELECT pg_create_logical_replication_slot('shardid_back_7', 'pgoutput')",
        ),
        ("publication", "shardid_move_7", "CREATE PUBLICATION shardid_move_7"),
        (
            "subscription",
            "shardid_move_7",
            "CREATE SUBSCRIPTION shardid_move_7 CONNECTION 'host=nowhere' PUBLICATION p WITH (connect = false)",
        ),
        (
            "role",
            "shardid_back_7",
            "CREATE ROLE shardid_back_7 CONNECTION LIMIT 0; GRANT SELECT ON shard_0003.photos TO shardid_back_7",
        ),
    ];
    for (kind, name, statement) in plant {
        node.psql(statement);
        let found = finding(&cluster, &[]);
        let says = format!("pg2: {kind} {name} is left over, and no move knows it: `");
        assert!(found.starts_with(&says), "{found}");
        // The journal knows a role by the subscription that it is for.
        let known = if kind == "role" { "subscription" } else { kind };
        cluster.nodes[0].psql(&format!(
            "INSERT INTO shardid.move (shard, source, target, schema, way_back, planned_by, state)
                 VALUES (3, 'pg2', 'pg1', 'shard_0003', false, 'test', 'aborted');
             INSERT INTO shardid.leftover (move, node, kind, name)
                 SELECT max(move), 'pg2', '{known}', '{name}' FROM shardid.move"
        ));
        finds_nothing(&cluster);
        cluster.nodes[0].psql("UPDATE shardid.leftover SET removed_at = now()");
        let found = finding(&cluster, &[]);
        for statement in found.rsplit_once(": `").unwrap().1.trim_end_matches('`').split("; ") {
            node.psql(statement);
        }
        finds_nothing(&cluster);
    }
    // An origin is of the whole server, and so is said once.
    node.psql("SELECT pg_replication_origin_create('shardid_move_7')");
    let found = finding(&cluster, &[]);
    assert!(found.starts_with("pg1: origin shardid_move_7 is left over, and no move"), "{found}");
    mend(&found, node);
    finds_nothing(&cluster);
}

/// It refuses that a schema is renamed, which is what helps with a copy that is left.
#[test]
fn what_keeps_a_schemas_name_is_found_where_no_move_stands() {
    let _alone = alone();
    let cluster = photos();
    let node = &cluster.nodes[1];
    node.psql("CREATE FUNCTION public.kept() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; CREATE EVENT TRIGGER shardid_move_7_name ON ddl_command_end EXECUTE FUNCTION public.kept()");
    let found = finding(&cluster, &[]);
    let says = "pg2: event trigger shardid_move_7_name is left over, and no move knows it: `ALTER EVENT TRIGGER shardid_move_7_name DISABLE;`";
    assert!(found.starts_with(says), "{found}");
    cluster.nodes[0].psql(
        "INSERT INTO shardid.move (move, shard, source, target, schema, way_back, planned_by, state)
             OVERRIDING SYSTEM VALUE VALUES (7, 3, 'pg2', 'pg1', 'shard_0003', false, 'test', 'copying')",
    );
    let found = cluster.run(&["verify"]);
    assert!(!found.stdout.contains("event trigger"), "{}", found.stdout);
    cluster.nodes[0].psql("UPDATE shardid.move SET state = 'aborted'");
    node.psql("ALTER EVENT TRIGGER shardid_move_7_name DISABLE");
    finds_nothing(&cluster);
}

#[test]
fn a_fence_that_no_move_knows_is_taken_down_by_apply_and_a_copy_put_out_of_the_way() {
    let _alone = alone();
    let cluster = photos();
    let fence = "CREATE TRIGGER shardid_fence BEFORE INSERT ON shard_0003.photos
        FOR EACH STATEMENT EXECUTE FUNCTION shardid.refuse_write('3')";
    // The row decides: by itself the trigger lets everybody write, and goes all the same.
    cluster.nodes[1].psql(fence);
    let found = finding(&cluster, &[]);
    let says =
        "pg2: shard 3 is open, and its tables have triggers of a fence that are of no use any more";
    assert_eq!(found, format!("{says}: `shardid apply` takes them away"));
    cluster.nodes[1].psql("INSERT INTO shard_0003.photos DEFAULT VALUES");
    let plan = cluster.run(&["plan"]).ok();
    assert!(plan.contains("shard 3") || plan.contains(": 3"), "{plan}");
    cluster.nodes[1].psql("UPDATE shardid.shard SET state = 'fenced' WHERE shard = 3");
    let found = finding(&cluster, &[]);
    let says = "pg2: shard 3 lives here behind a fence, and no move takes that down";
    assert_eq!(found, format!("{says}: `shardid apply`"));
    cluster.run(&["apply", "--yes"]).ok();
    finds_nothing(&cluster);

    // Elsewhere it keeps a copy from taking writes.
    let copy = "CREATE SCHEMA shard_0003; CREATE TABLE shard_0003.photos (id bigint)";
    cluster.nodes[0].psql(copy);
    cluster.nodes[0].psql(fence);
    let found = finding(&cluster, &[]);
    let says = "pg1: schema shard_0003 is a copy of shard 3 that no move knows, and the shard lives on pg2: ";
    assert!(found.starts_with(says), "{found}");
    mend(&found, &cluster.nodes[0]);
    finds_nothing(&cluster);
    // A second one finds the name taken.
    cluster.nodes[0].psql(copy);
    cluster.nodes[0].psql(fence);
    mend(&finding(&cluster, &[]), &cluster.nodes[0]);
    finds_nothing(&cluster);
}

#[test]
fn a_subscription_of_a_move_is_found_by_its_slot_and_by_its_owner() {
    let _alone = alone();
    let cluster = photos();
    let node = &cluster.nodes[1];
    node.psql(
        "CREATE SUBSCRIPTION mine CONNECTION 'host=nowhere' PUBLICATION p
             WITH (connect = false, slot_name = 'shardid_back_7');
         CREATE ROLE shardid_back_7 CONNECTION LIMIT 0 SUPERUSER; ALTER SUBSCRIPTION mine OWNER TO shardid_back_7;
         ALTER ROLE shardid_back_7 NOSUPERUSER",
    );
    let found = finding(&cluster, &[]);
    assert!(found.starts_with("pg2: subscription mine is left over, and no move"), "{found}");
    // A move that knows it by the name that it had still needs it.
    cluster.nodes[0].psql(
        "INSERT INTO shardid.move (shard, source, target, schema, way_back, planned_by, state)
             VALUES (3, 'pg2', 'pg1', 'shard_0003', true, 'test', 'aborted');
         INSERT INTO shardid.leftover (move, node, kind, name)
             SELECT max(move), 'pg2', 'subscription', 'shardid_back_7' FROM shardid.move",
    );
    let renamed = finding(&cluster, &[]);
    let says = "pg2: subscription mine is shardid_back_7 of a move, by another name: ";
    assert!(renamed.starts_with(says), "{renamed}");
    cluster.nodes[0].psql("UPDATE shardid.leftover SET removed_at = now()");
    let found = finding(&cluster, &[]);
    for statement in found.rsplit_once(": `").unwrap().1.trim_end_matches('`').split("; ") {
        node.psql(statement);
    }
    finds_nothing(&cluster);
}

#[test]
fn a_shard_that_has_moved_leaves_nothing_to_find_before_and_after_its_old_copy_is_dropped() {
    let _alone = alone();
    let cluster = photos();
    cluster.run(&["move", "3", "--to", "pg1", "--yes"]).ok();
    finds_nothing(&cluster);
    cluster.nodes[0].psql("INSERT INTO shard_0003.photos (title) VALUES ('after')");
    finds_nothing(&cluster);
    // Not always the first: others' roles on this server may have its name.
    let number = cluster.nodes[0].psql("SELECT max(move) FROM shardid.move");
    cluster.run(&["retire", &number, "--yes"]).ok();
    finds_nothing(&cluster);
}
