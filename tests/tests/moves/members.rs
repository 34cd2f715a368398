//! A right may be had by being a member of a role, which no object of a shard's schema knows of.

use shardid_tests::estate::{Estate, schema};

use crate::shared;

/// Runs `move --dry-run` of a shard to pg2, and says what it says.
fn said(estate: &Estate, shard: u32) -> (i32, String) {
    let run = estate.run(&["move", &shard.to_string(), "--to", "pg2", "--dry-run"]);
    (run.code, run.stderr)
}

/// A role of the same name may be more on the other node, and a policy may restrict whoever is a member: none gives a right, or takes it.
fn no_statement(stderr: &str) {
    let statements = stderr.split('`').skip(1).step_by(2);
    let is_one = |it: &&str| ["GRANT", "REVOKE", "ALTER ROLE"].iter().any(|word| it.contains(word));
    assert_eq!(statements.filter(is_one).count(), 0, "{stderr}");
}

/// Who is a member of it on one node alone would lose the right by the move, or gain it, without a word.
#[test]
fn who_would_lose_or_gain_a_right_as_a_member_of_a_role_is_named_before_the_move() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE \"Readers\"; CREATE ROLE between; CREATE ROLE lost; CREATE ROLE gained; CREATE ROLE in_other_ways; CREATE ROLE strong");
        estate.psql(
            &node,
            "CREATE ROLE also; CREATE ROLE of_itself; CREATE ROLE deep; CREATE ROLE stiff",
        );
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); GRANT SELECT ON {schema}.t TO \"Readers\", also, of_itself; GRANT USAGE ON SCHEMA {schema} TO \"Readers\", also, of_itself"));
    estate.psql("pg1", "CREATE ROLE only_here; GRANT \"Readers\" TO lost, strong, only_here, between, of_itself, deep, stiff; GRANT between TO in_other_ways; GRANT also TO deep");
    estate.psql(
        "pg2",
        "ALTER ROLE strong SUPERUSER; CREATE ROLE only_there; GRANT \"Readers\" TO only_there, in_other_ways, between, stiff; GRANT between TO gained; GRANT also TO deep",
    );
    let (stiff, mended) = match shardid_tests::Installation::get().major() >= 16 {
        true => (
            "GRANT \"Readers\" TO stiff WITH INHERIT FALSE",
            "GRANT \"Readers\" TO stiff WITH INHERIT TRUE;",
        ),
        false => ("ALTER ROLE stiff NOINHERIT", "ALTER ROLE stiff INHERIT;"),
    };
    estate.psql("pg2", stiff);
    let number = shard.to_string();
    let goes = |how: &str| estate.run(&["move", &number, "--to", "pg2", how]);

    for how in ["--dry-run", "--yes"] {
        let run = goes(how);
        assert_eq!(run.code, 1, "{}", run.stderr);
        for words in [
            "role lost has USAGE on schema SCHEMA and 1 more as a member of role \"Readers\" where the shard is, and not here",
            "on pg2 role lost is no member of role \"Readers\": have that be the same on both",
            "role gained has USAGE on schema SCHEMA and 1 more as a member of role \"Readers\" here, and not where the shard is",
            "on pg1 role gained is no member of role \"between\": have that be the same on both",
            "role stiff has USAGE on schema SCHEMA and 1 more as a member of role \"Readers\" where the shard is, and not here",
            "on pg2 role stiff does not inherit from role \"Readers\":",
        ] {
            let words = words.replace("SCHEMA", &schema);
            assert!(run.stderr.contains(&words), "{words}: {}", run.stderr);
        }
        // In another way it is the same, a superuser needs none, and of who is on one node alone nothing is known.
        for role in ["in_other_ways", "strong", "only_", "between", "of_itself", "deep"] {
            for verb in ["has", "may"] {
                let words = format!("role {role} {verb}");
                assert!(!run.stderr.contains(&words), "{words}: {}", run.stderr);
            }
        }
        no_statement(&run.stderr);
    }
    // What was said to help does.
    estate.psql("pg2", &format!("GRANT \"Readers\" TO lost; REVOKE between FROM gained; {mended}"));
    goes("--yes").ok();
    let reads = |role: &str| {
        estate.psql("pg2", &format!("SELECT has_table_privilege('{role}', '{schema}.t', 'SELECT')"))
    };
    let roles = ["lost", "gained", "in_other_ways", "of_itself", "deep", "stiff"];
    assert_eq!(roles.map(reads), ["t", "f", "t", "t", "t", "t"]);

    // Going back has it named, and is not refused.
    estate.psql("pg2", "GRANT \"Readers\" TO gained");
    let id = estate.last_move(shard);
    let words = format!(
        "role gained has USAGE on schema {schema} and 1 more as a member of role \"Readers\" where the shard is, and not here (on pg1 role gained is no member of role \"Readers\":"
    );
    for how in ["--dry-run", "--yes"] {
        let run = estate.run(&["rollback", &id, how]);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(run.code == 0 && said.contains(&words), "{said}");
    }
}

/// Whoever owns an object, of whatever kind, may change and drop it; and a type that is none of a table's may be granted.
#[test]
fn what_a_role_owns_counts_whatever_it_is() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE owns; CREATE ROLE joins");
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY, n bigint)"));
    estate.psql("pg2", "GRANT owns TO joins");
    let kinds = [
        ("TYPE", "x", "AS (a int)", ""),
        ("COLLATION", "x", "(LOCALE = 'C')", ""),
        ("TEXT SEARCH CONFIGURATION", "x", "(COPY = pg_catalog.simple)", ""),
        ("TEXT SEARCH DICTIONARY", "x", "(TEMPLATE = pg_catalog.simple)", ""),
        ("STATISTICS", "x", "ON id, n FROM SCHEMA.t", ""),
        ("OPERATOR", "@@@", "(LEFTARG = int, RIGHTARG = int, FUNCTION = int4pl)", "(int, int)"),
        ("CONVERSION", "x", "FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8", ""),
        ("OPERATOR FAMILY", "x", "USING btree", "USING btree"),
        ("FUNCTION", "x", "() RETURNS int LANGUAGE sql AS 'SELECT 1'", "()"),
        ("DOMAIN", "x", "AS int", ""),
        ("SEQUENCE", "x", "", ""),
    ];
    for (kind, name, made, named) in kinds {
        let object = format!("{kind} {schema}.{name}");
        let made = made.replace("SCHEMA", &schema);
        estate
            .psql("pg1", &format!("CREATE {object} {made}; ALTER {object} {named} OWNER TO owns"));
        let (code, stderr) = said(estate, shard);
        let words = "role joins has OWNERSHIP on ";
        assert!(code == 1 && stderr.contains(words), "{kind}: {stderr}");
        estate.psql("pg1", &format!("DROP {object} {named}"));
    }
    estate.psql("pg1", &format!("CREATE TYPE {schema}.x AS (a int); REVOKE USAGE ON TYPE {schema}.x FROM public; GRANT USAGE ON TYPE {schema}.x TO owns"));
    let (code, stderr) = said(estate, shard);
    let words = format!("role joins has USAGE on type {schema}.x");
    assert!(code == 1 && stderr.contains(&words), "{stderr}");
    estate.psql("pg2", "REVOKE owns FROM joins");
    assert_eq!(said(estate, shard).0, 0);
}

/// Who may grant a right on, and who may grant himself the role that has it, has more than who has the right.
#[test]
fn the_right_to_grant_counts_as_well() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE grants; CREATE ROLE reads");
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY, n int); GRANT SELECT ON {schema}.t TO reads; GRANT USAGE ON SCHEMA {schema} TO grants, reads"));
    estate.psql("pg2", "GRANT grants TO reads");
    assert_eq!(said(estate, shard).0, 0);
    for (right, on) in [
        ("SELECT", "TABLE SCHEMA.t"),
        ("SELECT (n)", "TABLE SCHEMA.t"),
        ("USAGE", "SCHEMA SCHEMA"),
        ("UPDATE", "SEQUENCE SCHEMA.shard_id_seq"),
    ] {
        let on = on.replace("SCHEMA", &schema).replacen(
            &format!("{schema} {schema}"),
            &format!("SCHEMA {schema}"),
            1,
        );
        estate.psql(
            "pg1",
            &format!(
                "GRANT {right} ON {on} TO reads; GRANT {right} ON {on} TO grants WITH GRANT OPTION"
            ),
        );
        let (code, stderr) = said(estate, shard);
        let words =
            format!("role reads has {} WITH GRANT OPTION on ", right.split(' ').next().unwrap());
        assert!(code == 1 && stderr.contains(&words), "{right}: {stderr}");
        estate.psql("pg1", &format!("REVOKE GRANT OPTION FOR {right} ON {on} FROM grants CASCADE"));
    }
    estate.psql("pg2", "REVOKE grants FROM reads");
    estate.psql("pg1", &format!("GRANT INSERT ON {schema}.t TO grants"));
    if shardid_tests::Installation::get().major() >= 16 {
        estate.psql("pg2", "GRANT grants TO reads WITH ADMIN TRUE, INHERIT FALSE, SET FALSE");
        let (code, stderr) = said(estate, shard);
        let words = "role reads may take by SET ROLE or a GRANT to itself INSERT on table";
        assert!(code == 1 && stderr.contains(words), "{stderr}");
        estate.psql("pg2", "REVOKE grants FROM reads");
    }
    assert_eq!(said(estate, shard).0, 0);
}

/// To take a right by SET ROLE alone is less than to have it.
#[test]
fn a_right_that_is_there_by_set_role_alone_is_another_one() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE taken; CREATE ROLE takes NOINHERIT");
    }
    estate.psql("pg1", &format!("GRANT USAGE ON SCHEMA {schema} TO taken"));
    estate.psql("pg1", "GRANT taken TO takes");
    let (_, stderr) = said(estate, shard);
    let words = format!(
        "role takes may take by SET ROLE or a GRANT to itself USAGE on schema {schema} as a member of role taken where the shard is, and not here"
    );
    assert!(stderr.contains(&words), "{stderr}");
    estate.psql("pg2", "GRANT taken TO takes");
    assert_eq!(said(estate, shard).0, 0);
}

/// What has changed since a move began is seen before the shard is closed for it.
#[test]
fn who_becomes_a_member_during_a_move_is_named_before_the_fence() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE readers_later; CREATE ROLE reader_later");
    }
    estate.psql("pg1", &format!("GRANT USAGE ON SCHEMA {schema} TO readers_later"));
    let number = shard.to_string();
    estate.run_cut("following/before-AwaitClose", &["move", &number, "--to", "pg2", "--yes"]);
    estate.psql("pg1", "GRANT readers_later TO reader_later");
    let id = estate.last_move(shard);
    let run = estate.run(&["resume", &id]);
    assert!(
        run.stderr.contains("on pg2 role reader_later is no member of role readers_later"),
        "{}",
        run.stderr
    );
    estate.psql("pg2", "GRANT readers_later TO reader_later");
    estate.run(&["resume", &id]).ok();
}

/// Which roles of the server have rights on what there is, PostgreSQL knows, and we have a list of: for each of its roles,
/// what a member has by the list is what the server says.
#[test]
fn roles_of_the_server_have_no_more_rights_than_a_move_compares() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY, c text); CREATE SEQUENCE {schema}.q; CREATE FUNCTION {schema}.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE DOMAIN {schema}.d AS int; REVOKE ALL ON FUNCTION {schema}.f() FROM PUBLIC; REVOKE ALL ON DOMAIN {schema}.d FROM PUBLIC; GRANT SELECT (c) ON {schema}.t TO pg_monitor"));
    let sql = |path: &str| {
        let path = format!("{}/../sql/postgres/move/{path}.sql", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("it is there")
    };
    let text = include_str!("members.sql")
        .replace("GRANTED", &format!("{}{}", sql("closure"), sql("rights/granted")))
        .replace("HAD", &sql("rights/had"))
        .replace("SCHEMA", &schema);
    let differ = estate.psql("pg1", &text);
    assert_eq!(differ, "looked at", "which member of which role has what by one of the two alone");
    // Who owns the databases is nobody's member, and has what pg_database_owner was granted.
    for (node, owner) in [("pg1", "owner_one"), ("pg2", "owner_two")] {
        estate.psql(node, &format!("CREATE ROLE owner_one; CREATE ROLE owner_two; SELECT format('ALTER DATABASE %I OWNER TO {owner}', current_database()) \\gexec"));
    }
    estate.psql("pg1", &format!("GRANT SELECT ON {schema}.t TO pg_database_owner"));
    let (_, stderr) = said(estate, shard);
    for owner in ["owner_one", "owner_two"] {
        let words = format!(
            "role {owner} has SELECT on table {schema}.t as a member of role pg_database_owner"
        );
        assert!(stderr.contains(&words), "{stderr}");
    }
    for node in ["pg1", "pg2"] {
        estate.psql(
            node,
            "SELECT format('ALTER DATABASE %I OWNER TO postgres', current_database()) \\gexec",
        );
    }
}

/// Who may make roles made one of the program's name on the node that follows: the hint gave it all that the program's has.
#[test]
fn nothing_is_granted_to_who_has_taken_the_name_of_a_role_of_the_programs_own() {
    // Of its own: other tests look at all roles.
    let estate = &Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let schema = schema(shard);
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); ALTER TABLE {schema}.t ENABLE ROW LEVEL SECURITY"));
    let role = estate.psql(
        "pg1",
        "SELECT quote_ident(rolname) FROM pg_roles WHERE starts_with(rolname, 'shardid/pg2/')",
    );
    assert_eq!(said(estate, shard).0, 0);
    estate.psql("pg2", &format!("CREATE ROLE {role}"));
    let (code, stderr) = said(estate, shard);
    assert_eq!(code, 1, "{stderr}");
    for words in [
        format!("role {role} passes by the policies of the shard (BYPASSRLS) where the shard is"),
        format!("role {role} has USAGE on schema {schema}"),
        format!(
            "and that on pg2 is not: `ALTER ROLE {role} RENAME TO ...;` there, then `shardid apply`"
        ),
    ] {
        assert!(stderr.contains(&words), "{words}: {stderr}");
    }
    assert!(!stderr.contains("GRANT "), "{stderr}");
    estate.psql(
        "pg2",
        &format!("CREATE ROLE plain; GRANT {role} TO plain; GRANT pg_read_all_data TO {role}"),
    );
    estate.psql("pg1", "CREATE ROLE plain");
    let (_, stderr) = said(estate, shard);
    assert!(stderr.contains("have role plain be no member of it on pg2"), "{stderr}");
    estate.psql("pg2", &format!("ALTER ROLE {role} RENAME TO somebodys"));
    // The owner of a table had it made there once more.
    estate.psql("pg1", &format!("GRANT SELECT ON {schema}.t TO {role}"));
    let (_, stderr) = said(estate, shard);
    assert!(
        stderr.contains("take from \"shardid/pg2/") && !stderr.contains("CREATE ROLE"),
        "{stderr}"
    );
    estate.psql("pg1", &format!("REVOKE SELECT ON {schema}.t FROM {role}"));
    estate.psql("pg2", "REVOKE somebodys FROM plain");
    assert_eq!(said(estate, shard).0, 0);
}

/// It read all rows after the move, or no more than some of them.
#[test]
fn who_passes_by_the_policies_of_a_shard_on_one_node_alone_is_named_before_the_move() {
    // Of its own: other tests have roles that differ.
    let estate = &Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE \"past Here\"; CREATE ROLE past_there; CREATE ROLE past_both BYPASSRLS; CREATE ROLE no_right");
    }
    estate.psql("pg1", "ALTER ROLE \"past Here\" BYPASSRLS; ALTER ROLE no_right BYPASSRLS");
    estate.psql("pg2", "ALTER ROLE past_there BYPASSRLS");
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); GRANT SELECT ON {schema}.t TO \"past Here\", past_there, past_both"));
    // Without a policy it makes no difference.
    let (code, words) = said(estate, shard);
    assert_eq!(code, 0, "{words}");
    estate.psql("pg1", &format!("ALTER TABLE {schema}.t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON {schema}.t USING (id > 9)"));
    let (code, words) = said(estate, shard);
    assert_eq!(code, 1, "{words}");
    for expected in [
        "role \"past Here\" passes by the policies of the shard (BYPASSRLS) where the shard is, and not here",
        "role \"past Here\" has BYPASSRLS on pg1 alone: have that be the same on both",
        "role past_there passes by the policies of the shard (BYPASSRLS) here, and not where the shard is",
    ] {
        assert!(words.contains(expected), "{expected}: {words}");
    }
    assert!(!words.contains("past_both") && !words.contains("no_right"), "{words}");
    // What everybody may, he may: each right that the server has and knows policies for.
    estate.psql("pg1", &format!("GRANT USAGE ON SCHEMA {schema} TO PUBLIC"));
    let all = estate.psql(
        "pg1",
        "SELECT DISTINCT privilege_type FROM aclexplode(acldefault('r', 10)) ORDER BY 1",
    );
    assert!(all.lines().count() >= 7, "{all}");
    for privilege in all.lines() {
        let has_policies = estate.psql(
            "pg1",
            &format!(
                "DO $$ BEGIN EXECUTE 'CREATE POLICY tried ON {schema}.t FOR {privilege} TO nobody_at_all ' ||
                     CASE '{privilege}' WHEN 'INSERT' THEN 'WITH CHECK' ELSE 'USING' END || ' (true)';
                     EXCEPTION WHEN undefined_object THEN PERFORM set_config('test.has', 'yes', false);
                     WHEN syntax_error OR invalid_parameter_value THEN PERFORM set_config('test.has', 'no', false); END $$;
                 SELECT current_setting('test.has')"
            ),
        ) == "yes";
        estate.psql("pg1", &format!("GRANT {privilege} ON {schema}.t TO PUBLIC"));
        let (_, words) = said(estate, shard);
        let is_named = words.contains("role no_right passes by the policies of the shard");
        assert_eq!(is_named, has_policies, "{privilege}: {words}");
        estate.psql("pg1", &format!("REVOKE {privilege} ON {schema}.t FROM PUBLIC"));
    }
    estate.psql("pg1", &format!("GRANT SELECT (id) ON {schema}.t TO PUBLIC"));
    let (code, words) = said(estate, shard);
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("role no_right passes by the policies of the shard"), "{words}");
    assert!(!words.contains("past_both"), "{words}");
    estate.psql("pg1", "ALTER ROLE no_right NOBYPASSRLS");
    estate.psql("pg2", "ALTER ROLE \"past Here\" BYPASSRLS; ALTER ROLE past_there NOBYPASSRLS");
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
}

/// What nobody grants on an object was not looked at: to become one of whom policies do not hold for, or a superuser, and to
/// grant a role to others.
#[test]
fn who_may_take_or_give_on_one_node_alone_what_no_owner_grants_is_named_before_the_move() {
    // Of its own: other tests look at all roles.
    let estate = &Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(
            &node,
            "CREATE ROLE reads; CREATE ROLE looks; CREATE ROLE audits BYPASSRLS; CREATE ROLE rules SUPERUSER; CREATE ROLE makes; CREATE ROLE maker CREATEROLE; CREATE ROLE owns; CREATE ROLE no_right",
        );
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); GRANT SELECT ON {schema}.t TO reads, looks; GRANT reads TO looks; ALTER TABLE {schema}.t OWNER TO owns"));
    estate.psql("pg2", "GRANT reads TO looks");
    assert_eq!(said(estate, shard).0, 0);
    let with_policies = format!("ALTER TABLE {schema}.t ENABLE ROW LEVEL SECURITY");
    let set_alone = match shardid_tests::Installation::get().major() >= 16 {
        true => " WITH INHERIT FALSE, SET TRUE",
        false => "",
    };
    let mut cases = vec![
        (
            format!("GRANT audits TO looks{set_alone}"),
            "role looks may take by SET ROLE or a GRANT to itself that it passes by the policies of the shard (BYPASSRLS) as a member of role audits",
            "REVOKE audits FROM looks",
        ),
        (
            "GRANT rules TO looks".into(),
            "role looks may become a superuser, by SET ROLE or a GRANT to itself, as a member of role rules",
            "REVOKE rules FROM looks",
        ),
        (
            "GRANT reads TO looks WITH ADMIN OPTION".into(),
            "role looks may grant role reads, which has rights of the shard, to others (ADMIN OPTION)",
            "REVOKE ADMIN OPTION FOR reads FROM looks",
        ),
    ];
    if shardid_tests::Installation::get().major() < 16 {
        cases.push((
            "ALTER ROLE makes CREATEROLE".into(),
            "role makes may take by SET ROLE or a GRANT to itself SELECT on table",
            "ALTER ROLE makes NOCREATEROLE",
        ));
        cases.push((
            "GRANT maker TO looks".into(),
            "role looks may take by SET ROLE or a GRANT to itself DELETE on table",
            "REVOKE maker FROM looks",
        ));
    }
    for (given, says, back) in cases {
        for (node, where_) in [
            ("pg1", "where the shard is, and not here"),
            ("pg2", "here, and not where the shard is"),
        ] {
            estate.psql(node, &given);
            if given.contains("audits") {
                assert_eq!(said(estate, shard).0, 0, "there is no policy yet");
                estate.psql("pg1", &with_policies);
            }
            let (code, stderr) = said(estate, shard);
            assert_eq!(code, 1, "{given} on {node}: {stderr}");
            let named = |line: &&str| line.contains(says) && line.ends_with(where_);
            assert!(stderr.lines().any(|line| named(&line)), "{given} on {node}: {stderr}");
            assert!(!stderr.contains("no_right"), "{stderr}");
            no_statement(&stderr);
            estate.psql(node, back);
            estate.psql("pg1", &format!("ALTER TABLE {schema}.t DISABLE ROW LEVEL SECURITY"));
            assert_eq!(said(estate, shard).0, 0, "{back}");
        }
    }
}

/// Policies go by the role that one is, and whoever may be another one sees what that one sees.
#[test]
fn who_may_be_another_role_on_one_node_alone_is_named_where_there_are_policies() {
    // Of its own: other tests look at all roles.
    let estate = &Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let schema = schema(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE one; CREATE ROLE another; CREATE ROLE has_none");
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY, who text); GRANT SELECT ON {schema}.t TO one, another"));
    for (node, where_) in
        [("pg1", "where the shard is, and not here"), ("pg2", "here, and not where the shard is")]
    {
        estate.psql(node, "GRANT another TO one; GRANT has_none TO one");
        let row_security = |on: &str| {
            estate.psql("pg1", &format!("ALTER TABLE {schema}.t {on} ROW LEVEL SECURITY"));
        };
        assert_eq!(said(estate, shard).0, 0, "there are no policies");
        row_security("ENABLE");
        estate.psql("pg1", &format!("CREATE POLICY mine ON {schema}.t USING (who = current_user)"));
        let (code, stderr) = said(estate, shard);
        let says = format!("role one may be role another by SET ROLE {where_}");
        assert!(code == 1 && stderr.contains(&says) && !stderr.contains("has_none"), "{stderr}");
        no_statement(&stderr);
        estate.psql(node, "REVOKE another FROM one; REVOKE has_none FROM one");
        assert_eq!(said(estate, shard).0, 0);
        estate.psql("pg1", &format!("DROP POLICY mine ON {schema}.t"));
        row_security("DISABLE");
    }
}

/// No shard could be moved by it; and where there was a role `admin`, what that one gives to others on all that it makes,
/// the move gave them on all that `"Admin"` makes.
#[test]
fn the_programs_role_may_have_any_name_and_is_no_other_role() {
    let (estate, shard) = (Estate::start(2, 4), 0);
    let schema = schema(shard);
    for node in ["pg1", "pg2"] {
        estate.psql(node, "CREATE ROLE \"Admin\" SUPERUSER LOGIN; CREATE ROLE \"jane.d o\" SUPERUSER LOGIN; CREATE ROLE admin; CREATE ROLE evil");
        estate.psql(node, "SET ROLE admin; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO evil; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO evil");
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    for role in ["Admin", "jane.d%20o"] {
        estate.declare(4, |_, url| url.replace("postgres@", &format!("{role}@")));
        let to = if estate.home(shard) == "pg1" { "pg2" } else { "pg1" };
        estate.run(&["move", "0", "--to", to, "--yes"]).ok();
        let id = estate.last_move(shard);
        estate.run(&["rollback", &id, "--yes"]).ok();
        estate.run(&["retire", &id, "--yes"]).ok();
    }
    for node in ["pg1", "pg2"] {
        let given = "SELECT count(*) FROM pg_default_acl d JOIN pg_roles r ON r.oid = d.defaclrole WHERE r.rolname <> 'admin'";
        assert_eq!(estate.psql(node, given), "0");
        estate.psql(node, "SET ROLE \"Admin\"; CREATE TABLE public.made ()");
        assert_eq!(
            estate.psql(node, "SELECT has_table_privilege('evil', 'public.made', 'SELECT')"),
            "f"
        );
    }
}
