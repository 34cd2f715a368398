//! A right may be had by being a member of a role, which no object of a shard's schema knows of.

use shardid_tests::estate::schema;

use crate::shared;

/// Who is a member of it on one node alone would lose the right by the move, or gain it, without a word.
#[test]
fn who_would_lose_or_gain_a_right_as_a_member_of_a_role_is_named_before_the_move() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE \"Readers\"; CREATE ROLE between; CREATE ROLE lost; CREATE ROLE gained; CREATE ROLE in_other_ways; CREATE ROLE strong SUPERUSER");
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); GRANT SELECT ON {schema}.t TO \"Readers\"; GRANT USAGE ON SCHEMA {schema} TO \"Readers\""));
    estate.psql("pg1", "CREATE ROLE only_here; GRANT \"Readers\" TO lost, strong, only_here, between; GRANT between TO in_other_ways");
    estate.psql(
        "pg2",
        "CREATE ROLE only_there; GRANT \"Readers\" TO gained, only_there, in_other_ways, between",
    );
    let number = shard.to_string();
    let goes = |how: &str| estate.run(&["move", &number, "--to", "pg2", how]);

    for how in ["--dry-run", "--yes"] {
        let run = goes(how);
        assert_eq!(run.code, 1, "{}", run.stderr);
        for words in [
            "role lost has the rights of role \"Readers\" where the shard is, and not here",
            "`GRANT \"Readers\" TO lost;`, or what takes that away",
            "role gained has the rights of role \"Readers\" here, and not where the shard is",
            "have role gained be a member of \"Readers\", by itself or by roles between them",
        ] {
            assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
        }
        // By another role it is the same, a superuser needs none, and of who is on one node alone nothing is known.
        for role in ["role in_other_ways", "role strong", "role only_", "role between"] {
            assert!(!run.stderr.contains(role), "{role}: {}", run.stderr);
        }
    }
    // What was said to help does.
    estate.psql("pg2", "GRANT \"Readers\" TO lost; REVOKE \"Readers\" FROM gained");
    goes("--yes").ok();
    let reads = |role: &str| {
        estate.psql("pg2", &format!("SELECT has_table_privilege('{role}', '{schema}.t', 'SELECT')"))
    };
    assert_eq!(["lost", "gained", "in_other_ways"].map(reads), ["t", "f", "t"]);

    // To take a right by SET ROLE alone is another one.
    estate.psql("pg1", "ALTER ROLE lost NOINHERIT");
    let major = shardid_tests::Installation::get().major();
    let change = match major {
        16.. => "GRANT \"Readers\" TO lost WITH INHERIT FALSE",
        _ => "ALTER ROLE lost NOINHERIT",
    };
    estate.psql("pg2", change);
    estate.psql("pg2", &format!("GRANT SELECT ON {schema}.t TO \"Readers\""));
    let run = estate.run(&["move", &number, "--to", "pg3", "--dry-run"]);
    assert!(
        run.stderr.contains("role lost may become role \"Readers\" where the shard is"),
        "{}",
        run.stderr
    );
}
