//! What the page on privileges grants a role is all that the role needs.

use shardid_tests::{Database, docs};

use crate::ask::{one, run};

/// Every `GRANT` of the section on roles that make shards, for that role in that database.
fn grants(database: &Database<'_>, role: &str) -> String {
    let page = docs::read("docs/privileges.md");
    let section = page.split("\n## ").find(|part| part.starts_with("A role that makes shards\n"));
    let blocks = section.expect("the page has that section").split("```");
    let grants: Vec<String> = blocks
        .filter_map(|block| block.strip_prefix("sql\n"))
        .flat_map(|block| block.split_inclusive(';'))
        .map(|statement| statement.trim().replace("shard_maker", role))
        .filter(|statement| statement.starts_with("GRANT "))
        .map(|statement| {
            statement.replace("ON DATABASE app", &format!("ON DATABASE {}", database.name()))
        })
        .collect();
    assert!(grants.len() > 2, "{grants:?}");
    grants.join("\n")
}

/// Makes, uses and alters all that the page names.
const MAKES: &str = "SELECT create_shard(7); SELECT create_shard(8, 'own', above => 1000); SELECT create_id_sequence('own.photo_ids', 7); \
     SELECT create_ticket('photos', 2, 3); SELECT create_segment('orders', 10); SELECT alter_segment('orders', 20)";
const USES: &str = "SELECT next_id(7), own.next_id(), next_id_from('own.photo_ids'), next_ticket('photos'), next_segment('orders')";
const DROPS: &str = "SELECT drop_ticket('photos'), drop_segment('orders'), drop_shard(8); DROP SEQUENCE own.photo_ids; SELECT drop_shard(7)";

/// The recipe did not suffice where `create_shard` took up a sequence, as after a dump without data.
#[test]
fn a_role_with_the_grants_of_the_page_makes_takes_up_and_drops_what_the_page_says() {
    let database = Database::fresh();
    let maker = database.role("maker");
    database.psql(&grants(&database, &maker));
    let mut client = database.connect_as(&maker);
    run(&mut client, "CREATE SCHEMA own");
    run(&mut client, "CALL shardid.create_shards(40, 41)");
    for sql in [MAKES, USES, DROPS, MAKES, USES] {
        run(&mut client, sql);
    }
    run(
        &mut client,
        "SELECT create_layout('mine', '2026-01-01Z', '10 ms', shards => 1024, slots => 10000)",
    );

    let dump = database.command("pg_dump").arg("--schema-only").output().expect("pg_dump runs");
    let copy = Database::fresh_plain();
    copy.psql(&String::from_utf8(dump.stdout).expect("a dump is text"));
    let mut client = copy.connect_as(&maker);
    let there = "SELECT to_regclass('shard_0007.shard_id_seq') IS NOT NULL AND (SELECT count(*) FROM shardid.shard) = 0";
    assert!(one::<bool>(&mut client, there), "the test would prove nothing");
    // All schemas are there: it may make none, and needs not.
    for sql in [MAKES, USES, DROPS, MAKES, USES] {
        run(&mut client, sql);
    }
}
