//! From empty servers to a cluster, and what it can do then.

use std::time::Duration;

use shardid_tests::postgres::fallible_iterator::FallibleIterator;

use crate::cluster::Cluster;

#[test]
fn empty_servers_become_a_cluster_with_ids_in_every_shard() {
    let cluster = Cluster::of(2, 16);
    let plan = cluster.run(&["plan"]).stdout;
    let run = cluster.run(&["apply", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, "", "what an apply says is talk");
    assert!(
        run.stderr.starts_with(&plan) && plan.contains("\ncatalog\n  + pg1"),
        "{plan}{}",
        run.stderr
    );
    assert!(run.stderr.ends_with("done: cluster photos has map version 1\n"), "{}", run.stderr);
    for (i, node) in cluster.nodes.iter().enumerate() {
        let mut client = node.connect();
        for shard in i as i64 * 8..i as i64 * 8 + 8 {
            let id: i64 = client.query_one("SELECT next_id($1)", &[&shard]).unwrap().get(0);
            let back: i32 = client.query_one("SELECT id_shard($1)", &[&id]).unwrap().get(0);
            assert_eq!(i64::from(back), shard);
        }
        let stamped =
            "SELECT count(*) FROM shardid.shard WHERE cluster = 'photos' AND map_version = 1";
        assert_eq!(node.psql(stamped), "16");
    }
}

#[test]
fn an_apply_that_is_run_again_changes_nothing() {
    let cluster = Cluster::applied(2, 16);
    let before = cluster.rows();
    assert!(before.len() > 10, "{before:?}");
    let run = cluster.run(&["apply", "--yes"]);
    assert!(run.stderr.contains("nothing to do"), "{}", run.stderr);
    assert_eq!(before, cluster.rows());
    cluster.nodes[1].psql("UPDATE shardid.cluster SET map_version = map_version");
    assert_ne!(before, cluster.rows(), "the comparison sees a change");
}

#[test]
fn a_shard_of_another_node_says_where_it_lives() {
    let cluster = Cluster::applied(2, 4);
    let mut client = cluster.nodes[0].connect();
    let error = client.query_one("SELECT next_id(3)", &[]).unwrap_err();
    let error = error.as_db_error().expect("the server refuses").clone();
    assert_eq!(error.code().code(), "SI001");
    let said = format!("{error:?}");
    assert!(said.contains("pg2") && said.contains("version 1"), "{said}");
}

#[test]
fn a_new_cluster_is_spread_by_weight() {
    let cluster = Cluster::of(3, 40);
    cluster.declare(40, |node| format!("weight = {}", [0, 3, 1, 0][node]));
    cluster.run(&["apply", "--yes"]).ok();
    let map = cluster.run(&["map"]).ok();
    assert!(map.contains("pg1       30  0-29\npg2       10  30-39\npg3        0\n"), "{map}");
}

#[test]
fn shards_that_are_there_before_the_cluster_stay_where_they_are() {
    let cluster = Cluster::of(2, 4);
    let (pg1, pg2) = (&cluster.nodes[0], &cluster.nodes[1]);
    pg2.psql("CREATE EXTENSION shardid; SELECT create_shard(0, 'mine');");
    let last: i64 = pg2.psql("SELECT next_id(0)").parse().unwrap();
    cluster.run(&["apply", "--yes"]).ok();
    assert_eq!(
        pg2.psql("SELECT shard, schema FROM shardid.shards WHERE state = 'open' ORDER BY 1"),
        "0|mine\n3|shard_0003"
    );
    assert_eq!(
        pg1.psql("SELECT shard FROM shardid.shards WHERE state = 'open' ORDER BY 1"),
        "1\n2"
    );
    let next: i64 = pg2.psql("SELECT next_id(0)").parse().unwrap();
    assert!(next > last);
}

#[test]
fn a_new_node_gets_the_map_and_no_shards_and_an_empty_one_may_go() {
    let grown = Cluster::of(3, 8);
    let text = std::fs::read_to_string(grown.folder().join("shardid.toml")).unwrap();
    let (two, three) = text.split_at(text.find("[nodes.pg3]").unwrap());
    grown.write(two);
    grown.run(&["apply", "--yes"]).ok();
    grown.write(&format!("{two}{three}"));
    let run = grown.run(&["apply", "--yes"]);
    assert!(
        run.stderr.contains("note: node pg3 holds no shards yet; `shardid rebalance`"),
        "{}",
        run.stderr
    );
    let map = grown.run(&["map"]).ok();
    assert!(map.contains("map version 1") && map.contains("pg3        0"), "{map}");
    assert_eq!(
        grown.nodes[2].psql("SELECT count(*) FROM shardid.shards WHERE state = 'moved'"),
        "8"
    );

    grown.write(two);
    let run = grown.run(&["apply", "--yes"]);
    assert!(run.stderr.contains("- pg3: forget"), "{}", run.stderr);
    assert_eq!(grown.nodes[0].psql("SELECT node FROM shardid.node ORDER BY 1"), "pg1\npg2");
}

#[test]
fn another_weight_is_written_and_moves_nothing() {
    let cluster = Cluster::applied(2, 8);
    cluster.declare(8, |node| format!("weight = {node}"));
    let run = cluster.run(&["apply", "--yes"]);
    assert!(run.stderr.contains("~ pg2: weight 1 -> 2"), "{}", run.stderr);
    assert!(run.stderr.contains("done: cluster photos has map version 1"), "{}", run.stderr);
    assert_eq!(
        cluster.nodes[0].psql("SELECT node, weight FROM shardid.node ORDER BY 1"),
        "pg1|1\npg2|2"
    );
}

#[test]
fn a_change_of_the_map_is_told_and_noted_with_who_and_when() {
    let cluster = Cluster::of(1, 4);
    let mut client = cluster.nodes[0].connect();
    client.batch_execute("LISTEN shardid_map").unwrap();
    cluster.run(&["apply", "--yes"]).ok();
    let mut told = client.notifications();
    let told = told.timeout_iter(Duration::from_secs(5)).next().unwrap().expect("a notification");
    assert_eq!((told.channel(), told.payload()), ("shardid_map", "1"));
    let history = cluster.nodes[0].psql(
        "SELECT map_version, changed_by LIKE '_%@_%', role, change, now() - changed_at < '1 min' FROM shardid.map_history",
    );
    assert_eq!(history, "1|t|postgres|spread 4 shards: pg1 4|t");
}

#[test]
fn a_shard_that_was_dropped_by_hand_is_made_again_above_its_ids() {
    let cluster = Cluster::applied(2, 4);
    let pg1 = &cluster.nodes[0];
    let last: i64 = pg1.psql("SELECT next_id(1)").parse().unwrap();
    pg1.psql("UPDATE shardid.shard SET cluster = NULL WHERE shard = 1; SELECT drop_shard(1)");
    let run = cluster.run(&["apply", "--yes"]);
    assert!(run.stderr.contains("+ pg1: create 1 shard: 1"), "{}", run.stderr);
    let next: i64 = pg1.psql("SELECT next_id(1)").parse().unwrap();
    assert!(next > last);
}

#[test]
fn an_apply_asks_and_without_a_terminal_it_wants_to_be_told() {
    let cluster = Cluster::of(1, 4);
    let before = cluster.rows();
    let error = cluster.run(&["apply"]).refused();
    assert!(error.contains("there is no terminal to ask on"), "{error}");
    assert!(error.contains("`--yes`"), "{error}");
    assert_eq!(before, cluster.rows());
}

#[test]
fn a_role_that_owns_its_database_needs_no_superuser() {
    let cluster = Cluster::of(2, 8);
    let owner = cluster.nodes[0].role("owner");
    for node in &cluster.nodes {
        node.psql(&format!("ALTER DATABASE {} OWNER TO {owner}", node.name()));
    }
    cluster.edit("postgres://postgres@", &format!("postgres://{owner}@"));
    cluster.nodes[0].psql(&format!("ALTER ROLE {owner} SET statement_timeout = '300ms'"));
    // Nobody makes anything in schema shardid, but whom a superuser lets.
    let refused = cluster.run(&["apply", "--yes"]).refused();
    assert!(refused.contains("permission denied for schema shardid"), "{refused}");
    assert!(refused.contains("docs/privileges.md"), "{refused}");
    cluster.nodes[0].psql(&format!("GRANT CREATE ON SCHEMA shardid TO {owner}"));
    cluster.run(&["apply", "--yes"]).ok();
    cluster.run(&["id", "next", "7"]).ok();
    let plan = cluster.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
}

/// To move shards takes a superuser. As one the program took the catalog for lost, and no hint led out.
#[test]
fn a_catalog_of_the_role_that_the_program_was_before_is_named_with_what_puts_it_away() {
    let cluster = Cluster::of(2, 8);
    let owner = cluster.nodes[0].role("owner");
    for node in &cluster.nodes {
        node.psql(&format!("ALTER DATABASE {} OWNER TO {owner}", node.name()));
    }
    let as_owner = format!("postgres://{owner}@");
    cluster.edit("postgres://postgres@", &as_owner);
    // It makes the extension, and no more.
    cluster.run(&["apply", "--yes"]).refused();
    cluster.nodes[0].psql(&format!("GRANT CREATE ON SCHEMA shardid TO {owner}"));
    cluster.run(&["apply", "--yes"]).ok();
    cluster.edit(&as_owner, "postgres://postgres@");
    let before = cluster.rows();
    let mut mend = String::new();
    for command in [&["plan"][..], &["apply", "--yes"], &["moves"], &["map"], &["verify"]] {
        let run = cluster.run(command);
        assert_ne!(run.code, 0, "{command:?}: {}{}", run.stdout, run.stderr);
        let said = run.stdout + &run.stderr;
        let says =
            format!("the catalog in schema shardid is of role {owner}, which is no superuser");
        assert!(said.contains(&says), "{command:?}: {said}");
        let statements = said.split('`').find(|part| part.contains("ALTER TABLE shardid.catalog "));
        mend = statements.expect("it says what helps").to_owned();
    }
    assert_eq!(before, cluster.rows());
    // What its owner has had it do besides is not done with a superuser's rights.
    let evil = cluster.nodes[0].role("evil");
    cluster.nodes[0].psql(&format!(
        "SET ROLE {owner}; SELECT format('CREATE RULE %1$s_planted AS ON %1$s TO %2$s DO ALSO UPDATE pg_authid SET rolsuper = true WHERE rolname = ''{evil}''', event, oid::regclass)
           FROM pg_class, unnest('{{INSERT,UPDATE,DELETE}}'::text[]) AS event WHERE relowner = '{owner}'::regrole AND relkind = 'r' \\gexec"
    ));
    cluster.nodes[0].psql(&mend);
    cluster.run(&["catalog", "rebuild", "--yes"]).ok();
    // What a superuser is needed for is made now.
    cluster.run(&["apply", "--yes"]).ok();
    let gained = format!("SELECT rolsuper FROM pg_roles WHERE rolname = '{evil}'");
    assert_eq!(cluster.nodes[0].psql(&gained), "f");
    let plan = cluster.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    cluster.run(&["verify"]).ok();
    cluster.run(&["moves"]).ok();
}

/// What its owner had put into a catalog, as rows, a trigger or a domain, was believed and run by a superuser
/// once the tables had been given to one, as by REASSIGN OWNED.
#[test]
fn a_superuser_does_nothing_by_a_catalog_that_a_plain_role_has_made() {
    let cluster = Cluster::of(1, 8);
    let node = &cluster.nodes[0];
    let owner = node.role("owner");
    node.psql(&format!("ALTER DATABASE {} OWNER TO {owner}", node.name()));
    let as_owner = format!("postgres://{owner}@");
    cluster.edit("postgres://postgres@", &as_owner);
    cluster.run(&["apply", "--yes"]).refused();
    node.psql(&format!("GRANT CREATE ON SCHEMA shardid TO {owner}"));
    cluster.run(&["apply", "--yes"]).ok();
    let mark = "made_by_superuser(shardid.catalog, shardid.leftover, shardid.map, shardid.move) RETURNS boolean LANGUAGE sql IMMUTABLE";
    let mut client = node.connect_as(&owner);
    client
        .batch_execute(&format!("CREATE FUNCTION shardid.{mark} AS 'SELECT true'"))
        .expect("it is not leakproof");
    client
        .batch_execute(&format!(
            "CREATE OR REPLACE FUNCTION shardid.{mark} LEAKPROOF AS 'SELECT true'"
        ))
        .expect_err("only a superuser makes one that is");
    cluster.edit(&as_owner, "postgres://postgres@");
    node.psql(&format!("REASSIGN OWNED BY {owner} TO postgres"));
    let before = cluster.rows();
    let mut said = String::new();
    for command in [
        &["plan"][..],
        &["apply", "--yes"],
        &["moves"],
        &["map"],
        &["verify"],
        &["abort", "--all", "--yes"],
    ] {
        let run = cluster.run(command);
        assert_ne!(run.code, 0, "{command:?}: {}", run.stdout);
        said = run.stdout + &run.stderr;
        let says = "nothing shows that the catalog in schema shardid was made by a superuser";
        assert!(said.contains(says), "{command:?}: {said}");
    }
    assert_eq!(before, cluster.rows());
    let statement = |of: &str| {
        said.split('`').find(|part| part.contains(of)).expect("it says what helps").to_owned()
    };
    // Neither where one of the tables has another name, nor where it is given to another extension.
    for (hide, show) in [
        ("ALTER TABLE shardid.move RENAME TO moved", "ALTER TABLE shardid.moved RENAME TO move"),
        (
            "CREATE EXTENSION hstore; ALTER EXTENSION hstore ADD TABLE shardid.move",
            "ALTER EXTENSION hstore DROP TABLE shardid.move",
        ),
    ] {
        node.psql(hide);
        let said = cluster.run(&["plan"]).refused();
        assert!(said.contains("nothing shows that the catalog"), "{hide}: {said}");
        node.psql(show);
    }
    // Whoever knows better says so, as after an upgrade.
    let mine = "DROP FUNCTION shardid.made_by_superuser";
    node.psql(&format!("{mine}; {}", statement("CREATE FUNCTION shardid.made_by_superuser(")));
    cluster.run(&["apply", "--yes"]).ok();
    cluster.run(&["verify"]).ok();
    node.psql(mine);
    cluster.run(&["plan"]).refused();
    // Whichever of its tables is there, all others have another name.
    let tables = node.psql("SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'shardid'::regnamespace AND c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = c.oid AND e.deptype = 'e')");
    let tables: Vec<&str> = tables.lines().collect();
    assert!(tables.len() > 10, "{tables:?}");
    let rename = |from: &str, to: &str| format!("ALTER TABLE shardid.{from} RENAME TO {to}; ");
    for one in &tables {
        let others = tables.iter().filter(|table| table != &one);
        let hide: String =
            others.clone().map(|table| rename(table, &format!("{table}_"))).collect();
        let show: String = others.map(|table| rename(&format!("{table}_"), table)).collect();
        node.psql(&hide);
        let said = cluster.run(&["plan"]).refused();
        assert!(said.contains("nothing shows that the catalog"), "{one}: {said}");
        node.psql(&show);
    }
    // Or it is put away.
    node.psql(&statement("ALTER TABLE shardid.catalog "));
    cluster.run(&["catalog", "rebuild", "--yes"]).ok();
    cluster.run(&["apply", "--yes"]).ok();
    cluster.run(&["verify"]).ok();
    assert_eq!(node.psql("SELECT count(*) FROM pg_proc WHERE proname = 'made_by_superuser'"), "1");
}

/// What others have by default on whatever the program's role makes, as on tables for an application, was theirs on the
/// catalog's tables as well, by which a superuser's program then dropped what they liked.
#[test]
fn the_catalog_is_written_by_nobody_but_its_owner() {
    let cluster = Cluster::of(1, 8);
    let node = &cluster.nodes[0];
    let bob = node.role("bob");
    for kind in ["TABLES", "SEQUENCES", "ROUTINES", "TYPES", "SCHEMAS"] {
        node.psql(&format!("ALTER DEFAULT PRIVILEGES GRANT ALL ON {kind} TO {bob}"));
    }
    node.psql("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO public");
    cluster.run(&["apply", "--yes"]).ok();
    let others = "SELECT c.oid::regclass, x.grantee::regrole, x.privilege_type FROM pg_class c, aclexplode(c.relacl) x WHERE c.relnamespace = 'shardid'::regnamespace
                     AND c.relkind <> 'c' AND x.grantee <> 'pg_database_owner'::regrole AND x.grantee <> c.relowner AND (x.grantee <> 0 OR x.privilege_type <> 'SELECT')";
    assert_eq!(node.psql(others), "");
    let refused = |given: &str, words: &str, statement: &str| {
        let before = cluster.rows();
        for command in
            [&["plan"][..], &["apply", "--yes"], &["moves"], &["retire", "--all", "--yes"]]
        {
            let run = cluster.run(command);
            assert_ne!(run.code, 0, "{given}, {command:?}: {}", run.stdout);
            let said = run.stdout + &run.stderr;
            assert!(said.contains(words), "{given}, {command:?}: {said}");
        }
        assert_eq!(before, cluster.rows(), "{given}");
        let said = cluster.run(&["plan"]).refused();
        let mend =
            said.split('`').find(|part| part.contains(statement)).expect("it says what helps");
        node.psql(mend);
        cluster.run(&["plan"]).ok();
    };
    // Whatever there is to be granted.
    let rights = |kind: &str| {
        let all = format!(
            "SELECT privilege_type FROM aclexplode(acldefault('{kind}', 10)) WHERE privilege_type <> 'SELECT'"
        );
        node.psql(&all)
    };
    let may = format!("{bob} may write to the catalog in schema shardid");
    for right in rights("r").lines() {
        node.psql(&format!("GRANT {right} ON shardid.leftover TO {bob}"));
        refused(right, &may, "ON TABLE shardid.leftover FROM");
    }
    for right in rights("s").lines() {
        node.psql(&format!(
            "GRANT {right} ON SEQUENCE shardid.move_move_seq TO {bob} WITH GRANT OPTION"
        ));
        refused(right, &may, "ON SEQUENCE shardid.move_move_seq FROM");
    }
    node.psql(&format!("GRANT UPDATE (state) ON shardid.move TO {bob}"));
    refused("a column", &may, "REVOKE UPDATE ON TABLE shardid.move");
    node.psql("GRANT INSERT ON shardid.map TO public");
    refused(
        "everybody",
        "PUBLIC may write to the catalog",
        "REVOKE INSERT ON TABLE shardid.map FROM PUBLIC",
    );
    assert_eq!(node.psql("SELECT has_table_privilege('public', 'shardid.map', 'SELECT')"), "t");
    // What was hung on it by a right stays when that goes.
    node.psql(&format!("CREATE SCHEMA bobs AUTHORIZATION {bob}; GRANT TRIGGER, REFERENCES ON shardid.map, shardid.move TO {bob}"));
    let mut client = node.connect_as(&bob);
    client
        .batch_execute(
            "CREATE FUNCTION bobs.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
             CREATE TRIGGER t BEFORE INSERT ON shardid.move FOR EACH ROW EXECUTE FUNCTION bobs.f();
             CREATE TABLE bobs.t (shard integer REFERENCES shardid.map)",
        )
        .expect("he may");
    node.psql(&format!("REVOKE ALL ON shardid.map, shardid.move FROM {bob}"));
    refused(
        "hung on it",
        "on the catalog in schema shardid is a plain role's constraint t_shard_fkey on table bobs.t, trigger t on table shardid.move",
        "DROP TRIGGER IF EXISTS t",
    );
    cluster.run(&["verify"]).ok();
}

/// What had once been put into schema shardid, where its maker might, fitted calls of the program's and of its guards better
/// than what is the extension's.
#[test]
fn a_superuser_calls_nothing_in_schema_shardid_where_others_have_put_something() {
    let cluster = Cluster::of(1, 8);
    cluster.run(&["apply", "--yes"]).ok();
    let node = &cluster.nodes[0];
    for (made, named) in [
        (
            "FUNCTION shardid.check_term(integer, integer) RETURNS void LANGUAGE sql AS ''",
            "function shardid.check_term(integer,integer)",
        ),
        (
            "FUNCTION shardid.made_by_superuser(integer) RETURNS void LANGUAGE sql AS ''",
            "function shardid.made_by_superuser(integer)",
        ),
        (
            "OPERATOR shardid.= (LEFTARG = bigint, RIGHTARG = smallint, FUNCTION = pg_catalog.int82eq)",
            "operator shardid.= (bigint,smallint)",
        ),
        ("COLLATION shardid.c (LOCALE = 'C')", "collation shardid.c"),
    ] {
        node.psql(&format!("CREATE {made}"));
        let shown = named.replace("= (", "=(");
        for command in [&["plan"][..], &["apply", "--yes"], &["moves"]] {
            let said = cluster.run(command).refused();
            assert!(said.contains(&format!("{shown}, in schema shardid, is none of")), "{said}");
        }
        node.psql(&format!("DROP {named}"));
        cluster.run(&["plan"]).ok();
    }
}

/// Who owned schema public of a node made functions and operators there that fit better than ours
/// and PostgreSQL's, and had them run by the program, which is a superuser.
#[test]
fn what_others_have_planted_on_a_node_is_not_run_by_the_program() {
    let cluster = Cluster::of(2, 4);
    for node in &cluster.nodes {
        let planter = node.role("planter");
        node.psql(&format!(
            "ALTER SCHEMA public OWNER TO {planter}; CREATE SCHEMA evil AUTHORIZATION {planter}; \
             ALTER DATABASE {} SET search_path = public, evil",
            node.name()
        ));
        let mut client = node.connect_as(&planter);
        client.batch_execute("SET search_path = pg_catalog").unwrap();
        let body = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted, and run as %', current_user; END $$";
        client
            .batch_execute(&format!(
                "CREATE FUNCTION public.create_shard(shard integer, layout text) RETURNS regclass {body}; \
                 CREATE FUNCTION public.next_ids(shard integer, count bigint) RETURNS SETOF bigint {body}"
            ))
            .unwrap();
        for (number, (left, operator, right)) in (1..).zip([
            ("oid", "=", "regclass"),
            ("oid", "=", "regprocedure"),
            ("regclass", "=", "oid"),
            ("regclass", "=", "regclass"),
            ("oid", "<>", "regclass"),
            ("oid", "=", "name"),
            ("oid", "=", "regtype"),
            ("regclass", "<>", "oid"),
            ("text", "||", "name"),
            ("text", "=", "name"),
        ]) {
            let name = format!("planted_{number}");
            client
                .batch_execute(&format!(
                    "CREATE FUNCTION public.{name}(a {left}, b {right}) RETURNS boolean {body}; \
                     CREATE OPERATOR public.{operator} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.{name})"
                ))
                .unwrap();
        }
    }
    cluster.run(&["apply", "--yes"]).ok();
    for arguments in [
        &["plan"][..],
        &["status"],
        &["verify"],
        &["verify", "--data"],
        &["map"],
        &["id", "next", "3"],
        &["apply", "--yes"],
    ] {
        let run = cluster.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {} {}", run.stdout, run.stderr);
    }
}
