//! A right that is taken back gives no more ids and tickets, also within a transaction.

use shardid_tests::{Installation, expect_error};

use crate::ask::{one, run, with_shard_5};

/// A right was looked at once in a transaction; nextval asks each time.
#[test]
fn a_right_that_is_gone_within_a_transaction_gives_no_more_ids() {
    let database = with_shard_5();
    let (member, group) = (database.role("member"), database.role("group"));
    let mut client = database.connect();
    run(
        &mut client,
        &format!(
            "SELECT create_ticket('orders'); GRANT USAGE ON SCHEMA shard_0005 TO PUBLIC;
             GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {group};
             DO $$ BEGIN EXECUTE format('GRANT USAGE ON SEQUENCE %s TO {group}', (SELECT sequence::regclass FROM shardid.ticket WHERE name = 'orders')); END $$"
        ),
    );
    let act = format!("SET LOCAL ROLE {member}");
    // From 16 on each membership says for itself whether its rights are inherited.
    let no_inherit = match Installation::get().major() {
        ..16 => format!("ALTER ROLE {member} NOINHERIT"),
        _ => format!("REVOKE INHERIT OPTION FOR {group} FROM {member}"),
    };
    for block in [1, 256] {
        run(&mut client, &format!("SET shardid.block = {block}"));
        for take in ["SELECT next_id(5)", "SELECT next_ids(5, 3)", "SELECT next_ticket('orders')"] {
            for (before, after) in [
                (
                    format!("GRANT {group} TO {member}; BEGIN; {act}"),
                    format!("RESET ROLE; REVOKE {group} FROM {member}; {act}"),
                ),
                (
                    format!("BEGIN; SAVEPOINT q; GRANT {group} TO {member}; {act}"),
                    format!("ROLLBACK TO q; {act}"),
                ),
                (
                    format!("GRANT {group} TO {member}; BEGIN; {act}"),
                    format!("RESET ROLE; {no_inherit}; {act}"),
                ),
            ] {
                run(&mut client, &before);
                for _ in 0..3 {
                    run(&mut client, take);
                }
                run(&mut client, &after);
                expect_error(&mut client, take, "42501");
                run(&mut client, &format!("ROLLBACK; RESET ROLE; REVOKE {group} FROM {member}"));
            }
        }
    }
}

/// Whoever owns the database is a member of pg_database_owner.
#[test]
fn a_right_that_went_with_the_database_is_gone_within_a_transaction() {
    let database = with_shard_5();
    let member = database.role("member");
    let (mut admin, mut client) = (database.connect(), database.connect());
    let name: String = one(&mut client, "SELECT current_database()::text");
    run(
        &mut admin,
        &format!(
            "SELECT create_ticket('orders'); GRANT USAGE ON SCHEMA shard_0005 TO PUBLIC;
             GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO pg_database_owner;
             DO $$ BEGIN EXECUTE format('GRANT USAGE ON SEQUENCE %s TO pg_database_owner', (SELECT sequence::regclass FROM shardid.ticket WHERE name = 'orders')); END $$;
             GRANT TEMPORARY ON DATABASE {name} TO PUBLIC"
        ),
    );
    for take in ["SELECT next_id(5)", "SELECT next_ticket('orders')"] {
        run(&mut admin, &format!("ALTER DATABASE {name} OWNER TO {member}"));
        run(&mut client, &format!("BEGIN; SET LOCAL ROLE {member}; {take}; {take}"));
        run(&mut admin, &format!("ALTER DATABASE {name} OWNER TO postgres"));
        // By a lock that it takes anew PostgreSQL hears of it.
        run(&mut client, "CREATE TEMPORARY TABLE z (i int)");
        expect_error(&mut client, take, "42501");
        run(&mut client, "ROLLBACK; DISCARD TEMP");
    }
}

/// What is left of a block goes where a right may have: a transaction that makes a role for each row ran ahead of the clock.
#[test]
fn who_makes_roles_between_ids_leaves_no_blocks_behind() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('few', '2026-01-01Z', '1 s', 16, 2000); SELECT create_shard(6, layout => 'few')",
    );
    run(&mut client, "SET shardid.max_wait = 0; BEGIN");
    let group = database.role("group");
    for _ in 0..300 {
        run(
            &mut client,
            &format!(
                "SELECT next_id(6); GRANT {group} TO postgres; SELECT next_id(6); REVOKE {group} FROM postgres"
            ),
        );
    }
    let ahead: bool =
        one(&mut client, "SELECT id_time(next_id(6), 'few') > clock_timestamp() + interval '2 s'");
    assert!(!ahead);
    run(&mut client, "COMMIT");
}
