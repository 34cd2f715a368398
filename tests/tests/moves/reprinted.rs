//! What PostgreSQL prints of an expression it may print otherwise once it has read that: a shard that has such ones,
//! as `varchar` columns with a list of values, moves as every other does.

use crate::shared;

const DEFINITIONS: &str = include_str!("reprinted.sql");

#[test]
fn a_shard_whose_definitions_are_printed_otherwise_by_the_new_node_is_moved_and_back() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = shardid_tests::estate::schema(shard);
    let in_it = |sql: &str| sql.replace("@.", &format!("{schema}."));
    estate.psql("pg1", &in_it(DEFINITIONS));
    let made = estate.psql("pg1", &format!("SELECT obj_description('{schema}.value'::regclass)"));
    assert!(made.parse::<usize>().is_ok_and(|made| made > 700), "{made} expressions");
    let print = |node: &str| {
        let text = "SELECT string_agg(pg_get_constraintdef(c.oid), E'\\n' ORDER BY c.conname) FROM pg_constraint c WHERE c.conrelid = ";
        estate.psql(node, &format!("{text}'{schema}.value'::regclass"))
    };
    let before = print("pg1");

    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    // The case is there: some are printed otherwise by now.
    let after = print("pg2");
    let otherwise = before.lines().zip(after.lines()).filter(|(one, other)| one != other).count();
    assert!(otherwise > 50, "{otherwise} are printed otherwise");

    let id = estate.last_move(shard);
    estate.run(&["rollback", &id, "--yes"]).ok();
    assert_eq!(print("pg1"), before);
    estate.assert_no_trace(shard);
}

#[test]
fn what_was_changed_in_a_copy_is_told_from_what_is_printed_otherwise() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = shardid_tests::estate::schema(shard);
    let in_it = |sql: &str| sql.replace("@.", &format!("{schema}."));
    let sql = "CREATE TABLE @.place (id bigint PRIMARY KEY, a varchar(9) CONSTRAINT one_of CHECK (a IN ('x', 'y')));
        CREATE VIEW @.looks AS SELECT a FROM @.place WHERE a IN ('x', 'y')";
    estate.psql("pg1", &in_it(sql));
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    let sql = "ALTER VIEW @.looks RENAME COLUMN a TO b";
    estate.psql("pg2", &in_it(sql));
    let run = estate.run(&["rollback", &id, "--dry-run"]);
    let said = run.stdout.clone() + &run.stderr;
    assert!(said.contains("VIEW looks") && !said.contains("TABLE place"), "{said}");
    let sql = "ALTER VIEW @.looks RENAME COLUMN b TO a";
    estate.psql("pg2", &in_it(sql));
    let run = estate.run(&["rollback", &id, "--yes"]);
    run.ok();
    estate.assert_no_trace(shard);
}
