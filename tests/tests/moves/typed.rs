//! What the program prints for a superuser to type makes nobody one, whatever names and messages others have given.

use shardid_tests::estate::{DATABASE, Estate, schema};

use crate::shared;

/// A role that is called like that of a stream was to be dropped with all that it owns, and the name of a database ended the comment
/// that it stood in.
#[test]
fn a_role_of_somebodys_that_is_called_like_ours_keeps_what_it_owns() {
    let estate = &Estate::start(2, 4);
    let evil = "x */ ALTER ROLE maker SUPERUSER; /*";
    estate.psql("pg2", "CREATE ROLE maker LOGIN CREATEDB; CREATE ROLE shardid_back_93 LOGIN; CREATE TABLE public.gold (a int); ALTER TABLE public.gold OWNER TO shardid_back_93; CREATE ROLE shardid_move_94 CONNECTION LIMIT 0");
    estate.psql("pg2", &format!("CREATE DATABASE \"{evil}\" OWNER maker"));
    let other = estate.node("pg2");
    other.psql(evil, "CREATE TABLE t (a int); GRANT SELECT ON t TO shardid_move_94");
    estate.psql("pg2", "ALTER ROLE shardid_move_94 IN DATABASE app SET work_mem = '1MB'");
    let found = estate.run(&["verify"]).stdout;
    let line = |of: &str| {
        found.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{found}"))
    };
    assert!(
        line("role shardid_back_93 is left over")
            .ends_with(": `ALTER ROLE shardid_back_93 RENAME TO ...;`"),
        "{found}"
    );
    let of_ours = line("role shardid_move_94 is left over");
    let statements: Vec<&str> = of_ours.split('`').skip(1).step_by(2).collect();
    assert_eq!(
        statements,
        [
            "DROP OWNED BY shardid_move_94;",
            "DROP OWNED BY shardid_move_94; DROP ROLE shardid_move_94;"
        ],
        "{of_ours}"
    );
    assert!(of_ours.contains(evil), "{of_ours}");
    // As it says.
    other.psql(evil, statements[0]);
    estate.psql("pg2", statements[1]);
    estate.psql("pg2", "ALTER ROLE shardid_back_93 RENAME TO somebodys");
    let found = estate.run(&["verify"]).stdout;
    assert!(!found.contains("is left over"), "{found}");
    assert_eq!(estate.psql("pg2", "SELECT rolsuper FROM pg_roles WHERE rolname = 'maker'"), "f");
}

/// It stood in the place of the program's own, which was gone.
#[test]
fn a_hint_that_a_function_raises_is_not_said_as_the_programs() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    estate.psql("pg1", &format!(
        "CREATE TABLE {schema}.t (id bigint PRIMARY KEY, v text); INSERT INTO {schema}.t VALUES (1, 'a');
         CREATE FUNCTION {schema}.f(v text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
         ALTER TABLE {schema}.t ADD CHECK ({schema}.f(v));
         CREATE OR REPLACE FUNCTION {schema}.f(v text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
             RAISE EXCEPTION E'first\\n\\nhint: `ALTER ROLE own SUPERUSER;`' USING HINT = E'`ALTER ROLE own SUPERUSER;`\\r\\nhint: do'; END $$"
    ));
    let run = estate.run(&["move", &shard.to_string(), "--to", "pg2", "--jobs", "2", "--yes"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let id = estate.last_move(shard);
    let hints: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("hint:")).collect();
    assert!(
        hints.len() == 1 && hints[0].contains(&format!("`shardid resume {id}`")),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("the server's hint: `ALTER ROLE own SUPERUSER;`"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains('\r'), "{:?}", run.stderr);
    estate.run(&["abort", &id, "--yes"]).ok();
}

/// Each statement of `verify` that calls a function names its schema, and each that runs what a table's owner has written is for that
/// one to say.
#[test]
fn what_verify_has_a_superuser_type_calls_nothing_of_others() {
    let estate = &Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let schema = schema(shard);
    let node = estate.node("pg1");
    estate.psql("pg1", &format!(
        "CREATE ROLE own LOGIN; GRANT CREATE ON DATABASE {DATABASE} TO own; GRANT CREATE ON SCHEMA {schema} TO own; GRANT USAGE ON SEQUENCE {schema}.shard_id_seq TO own; GRANT USAGE ON SCHEMA {schema} TO own;
         GRANT EXECUTE ON FUNCTION {schema}.next_id() TO own"
    ));
    let become_one = "BEGIN IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN ALTER ROLE own SUPERUSER; END IF; RETURN";
    estate.psql("pg1", &format!(
        "SET ROLE own;
         CREATE FUNCTION {schema}.ev(n numeric) RETURNS boolean LANGUAGE plpgsql AS $$ {become_one} true; END $$;
         CREATE FUNCTION {schema}.fires() RETURNS trigger LANGUAGE plpgsql AS $$ {become_one} NEW; END $$;
         CREATE TABLE {schema}.small (id integer PRIMARY KEY DEFAULT {schema}.next_id(), CHECK ({schema}.ev(id)));
         CREATE TABLE {schema}.far (id bigint PRIMARY KEY DEFAULT {schema}.next_id(), v int);
         CREATE TRIGGER fires BEFORE UPDATE ON {schema}.far FOR EACH ROW EXECUTE FUNCTION {schema}.fires();
         CREATE SCHEMA postgres; GRANT USAGE ON SCHEMA postgres TO PUBLIC;
         CREATE FUNCTION postgres.setval(text, bigint) RETURNS bigint LANGUAGE plpgsql AS $$ {become_one} $2; END $$"
    ));
    let ahead = |by: &str| {
        estate.psql(
            "pg1",
            &format!(
                "INSERT INTO {schema}.far SELECT id_at(now() + interval '{by}') + 1024 * {shard}"
            ),
        );
        estate.run(&["verify", "--data"]).stdout
    };
    let found = ahead("20 years");
    for (problem, statement) in
        [("takes ids, and is integer", "ALTER TABLE"), ("beyond what shard", "UPDATE")]
    {
        let line =
            found.lines().find(|line| line.contains(problem)).unwrap_or_else(|| panic!("{found}"));
        let says = format!(
            "its owner, role own, says in a session of its own, as what a superuser says, also after SET ROLE, may run the owner's code with a superuser's rights: `{statement} "
        );
        assert!(line.contains(&says), "{line}");
    }
    estate.psql("pg1", &format!("TRUNCATE {schema}.far"));
    let found = ahead("1 hour");
    let line = found
        .lines()
        .find(|line| line.contains("beyond what shard"))
        .unwrap_or_else(|| panic!("{found}"));
    let statement = line.split('`').find(|it| it.starts_with("SELECT pg_catalog.setval("));
    let statement = statement.unwrap_or_else(|| panic!("{line}"));
    node.psql(DATABASE, statement);
    assert_eq!(
        estate.psql("pg1", "SELECT rolsuper FROM pg_roles WHERE rolname = 'own'"),
        "f",
        "{statement}"
    );
    let found = estate.run(&["verify", "--data"]).stdout;
    assert!(!found.contains("beyond what shard"), "{found}");
}

/// The order in which a server lists roles is that in which they were made, and a policy for two of them was taken for another one.
#[test]
fn a_policy_for_several_roles_is_moved_and_a_restriction_is_not_taken_for_a_right() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    estate
        .psql("pg1", "CREATE ROLE pa1; CREATE ROLE pb1; CREATE ROLE k_app; CREATE ROLE k_limited");
    estate
        .psql("pg2", "CREATE ROLE pb1; CREATE ROLE pa1; CREATE ROLE k_app; CREATE ROLE k_limited");
    estate.psql("pg1", &format!(
        "CREATE TABLE {schema}.pp (id int PRIMARY KEY); ALTER TABLE {schema}.pp ENABLE ROW LEVEL SECURITY;
         GRANT USAGE, CREATE ON SCHEMA {schema} TO pa1; SET ROLE pa1; CREATE TYPE {schema}.spans AS RANGE (subtype = int8); RESET ROLE;
         ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO pa1, pb1;
         CREATE POLICY two ON {schema}.pp TO pa1, pb1 USING (true); CREATE POLICY lim ON {schema}.pp AS RESTRICTIVE TO k_limited USING (id = 1);
         GRANT SELECT ON {schema}.pp TO k_app; GRANT k_limited TO k_app"
    ));
    let number = shard.to_string();
    let refused = estate.run(&["move", &number, "--to", "pg2", "--yes"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let says = format!(
        "role k_app sees fewer rows by policy lim on {schema}.pp as a member of role k_limited where the shard is, and not here"
    );
    assert!(
        refused.stderr.contains(&says) && !refused.stderr.contains("REVOKE"),
        "{}",
        refused.stderr
    );
    estate.psql("pg2", "GRANT k_limited TO k_app");
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    estate.run(&["rollback", &id, "--yes"]).ok();
}
