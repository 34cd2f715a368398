//! Whoever owns the database, or the schema that the extension lives in, has nothing of his run with
//! another's rights: not when it is installed or updated, and not when it is called.
//!
//! What is planted is made from the catalog: for each function and operator that the scripts name,
//! an overload that is one implicit cast away, or several, and so fits better than ours if a call
//! does not fit exactly.

use std::collections::{BTreeSet, HashMap};
use std::fs;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, expect_error};

use crate::ask::{one, run};

const SCRIPTS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../pg_extension/sql/shardid--0.2.0.sql"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../pg_extension/sql/shardid--0.1.0--0.2.0.sql"),
];

/// The types that the scripts' calls are made with.
const TYPES: &str = "'bool', 'text', 'name', 'int4', 'int8', 'numeric', 'float8', 'timestamptz', 'timestamp', 'date', 'interval', \
    'oid', 'regclass', 'regsequence', 'regprocedure', 'regtype', 'regnamespace', 'char', '_text', '_int4', '_oid', '_regprocedure'";

/// What a planted function says when it runs; no error of ours has this SQLSTATE.
const RAN: &str = "EV001";

/// A function or operator of the server's, or of ours.
struct Named {
    name: String,
    is_operator: bool,
    is_ours: bool,
    arguments: Vec<String>,
    result: String,
}

/// What there is to plant, by the words and operators of the scripts.
fn named() -> (Vec<Named>, HashMap<String, Vec<String>>) {
    let texts: Vec<String> =
        SCRIPTS.iter().map(|file| fs::read_to_string(file).expect("the script is there")).collect();
    let text = texts.concat();
    let words: BTreeSet<String> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .map(str::to_lowercase)
        .collect();
    let operators: BTreeSet<&str> =
        text.split(|c: char| !"+-*/<>=~!@#%^&|`?".contains(c)).filter(|o| !o.is_empty()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).chain(operators).collect();
    let database = Database::fresh();
    let mut client = database.connect();
    let sql = "
        SELECT p.proname::text, false, n.nspname <> 'pg_catalog',
            ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t), format_type(p.prorettype, NULL)
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE p.proname = ANY ($1::text[]) AND p.prokind <> 'p' AND p.pronargs BETWEEN 1 AND 8 AND (n.nspname = 'pg_catalog'
            OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                AND d.refclassid = 'pg_extension'::regclass AND n.nspname IN ('public', 'shardid')))
        UNION ALL
        SELECT o.oprname::text, true, false, ARRAY[format_type(oprleft, NULL), format_type(oprright, NULL)], format_type(oprresult, NULL)
        FROM pg_operator o WHERE o.oprname = ANY ($1::text[]) AND o.oprleft <> 0 AND o.oprright <> 0";
    let rows = client.query(sql, &[&words]).unwrap();
    let all = rows.iter().map(|row| Named {
        name: row.get(0),
        is_operator: row.get(1),
        is_ours: row.get(2),
        arguments: row.get(3),
        result: row.get(4),
    });
    // What a value of a type of ours may be of, to be taken for that type without a word.
    let sql = format!(
        "SELECT format_type(casttarget, NULL), format_type(castsource, NULL) FROM pg_cast \
         WHERE castcontext = 'i' AND castsource <> casttarget AND castsource IN (SELECT oid FROM pg_type WHERE typname IN ({TYPES}))"
    );
    let mut sources: HashMap<String, Vec<String>> = HashMap::new();
    for row in client.query(&sql, &[]).unwrap() {
        sources.entry(row.get(0)).or_default().push(row.get(1));
    }
    let several = |types: &[&str]| types.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
    for any in ["anyelement", "anycompatible", "anynonarray", "\"any\""] {
        sources.insert(any.to_owned(), several(&["text", "bigint", "integer", "regclass", "name"]));
    }
    for any in ["anyarray", "anycompatiblearray"] {
        sources
            .insert(any.to_owned(), several(&["text[]", "integer[]", "oid[]", "regprocedure[]"]));
    }
    (all.collect(), sources)
}

/// Every way to change some arguments of a function for what is cast to them.
fn near(named: &Named, sources: &HashMap<String, Vec<String>>) -> Vec<Vec<String>> {
    let mut ways = vec![Vec::new()];
    for argument in &named.arguments {
        let mut alternatives = vec![argument.clone()];
        alternatives.extend(sources.get(argument).into_iter().flatten().cloned());
        let longer = |way: &Vec<String>| {
            let way = way.clone();
            let more = alternatives.iter().map(move |a| {
                let mut way = way.clone();
                way.push(a.clone());
                way
            });
            more.collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(longer).take(300).collect();
    }
    // format() and its like are called with any number of arguments.
    if named.arguments.last().is_some_and(|last| last == "\"any\"") {
        for kind in ["text", "integer", "bigint", "regclass", "name"] {
            ways.extend((1..=4).map(|count| {
                let mut way = vec!["text".to_owned()];
                way.extend((0..count).map(|_| kind.to_owned()));
                way
            }));
        }
    }
    ways
}

/// The statements that plant all of it in a schema, `@`; `copies`: also functions with the very
/// signatures of ours.
fn statements(copies: bool) -> Vec<String> {
    let (all, sources) = named();
    let mut done = BTreeSet::new();
    let mut statements = Vec::new();
    for named in &all {
        for way in near(named, &sources) {
            if way == named.arguments && (!named.is_ours || !copies) {
                continue;
            }
            let arguments = way.join(", ");
            if !done.insert(format!("{} ({arguments})", named.name)) {
                continue;
            }
            let is_any =
                |kind: &str| kind.starts_with("any") || kind == "trigger" || kind == "internal";
            let result = if is_any(&named.result) { &way[0] } else { &named.result };
            let number = statements.len();
            let function =
                if named.is_operator { format!("planted_{number}") } else { named.name.clone() };
            let mut statement = format!(
                "CREATE FUNCTION @.{function}({arguments}) RETURNS {result} LANGUAGE plpgsql AS \
                 $f$ BEGIN RAISE EXCEPTION 'planted: {} ({arguments}) ran as %', current_user USING ERRCODE = '{RAN}'; END $f$",
                named.name
            );
            if named.is_operator {
                statement += &format!(
                    "; CREATE OPERATOR @.{} (LEFTARG = {}, RIGHTARG = {}, FUNCTION = @.{function})",
                    named.name, way[0], way[1]
                );
            }
            statements.push(statement);
        }
    }
    statements
}

/// Plants as much as this role can, and returns how much that is.
fn plant(client: &mut Client, schema: &str, copies: bool) -> i64 {
    let statements = statements(copies);
    run(
        client,
        "SET search_path = pg_catalog; CREATE TEMP TABLE IF NOT EXISTS todo (statement text); TRUNCATE pg_temp.todo",
    );
    client
        .execute(
            "INSERT INTO pg_temp.todo SELECT replace(s, '@', $2) FROM unnest($1::text[]) s",
            &[&statements, &schema],
        )
        .unwrap();
    run(
        client,
        "DO $do$ DECLARE one text; done int := 0; BEGIN \
             FOR one IN SELECT statement FROM pg_temp.todo LOOP \
                 BEGIN EXECUTE one; done := done + 1; EXCEPTION WHEN OTHERS THEN END; \
             END LOOP; \
             PERFORM set_config('planted.count', done::text, false); END $do$",
    );
    one(client, "SELECT current_setting('planted.count')::bigint")
}

/// Everything that a user calls, with the types that are declared, in schema `@`; the role's
/// numbers begin at `%`.
const CALLS: &str = "
    SELECT @.create_layout('mine%'::text, '2026-01-01Z'::timestamptz, '10 ms'::interval, 1000::bigint, 1000::bigint, NULL::bigint)
    SELECT @.create_shard(%1)
    SELECT @.create_shard(%2, 'two%'::name, 'mine%'::text)
    SELECT @.create_id_sequence('public.ids%'::text, %1)
    SELECT @.next_id(%1::bigint), @.next_id_from('public.ids%'::regclass), @.last_id(), shard_0%1.next_id(), two%.next_id()
    SELECT @.next_ids(%1::bigint, 3)
    SET shardid.shard = %1
    SELECT @.next_id()
    SELECT @.id_time(1::bigint), @.id_shard(1::bigint), @.id_slot(1::bigint), @.id_parts(1::bigint)
    SELECT @.id_time(1::bigint, 'js53'::text), @.id_shard(1::bigint, 'js53'::text), @.id_slot(1::bigint, 'js53'::text), @.id_parts(1::bigint, 'js53'::text)
    SELECT * FROM @.id_explain(@.next_id(%1::bigint))
    SELECT @.id_at(now()), @.id_at(now(), 'mine%'::text)
    SELECT @.id_text(5::bigint), @.id_from_text('0000000000001'::text), @.conceal_id(5::bigint, '0123456789abcdef'::bytea), @.reveal_id(5::bigint, '0123456789abcdef'::bytea)
    CREATE TABLE public.p% (id bigint DEFAULT @.next_id(%1::bigint)) PARTITION BY RANGE (id)
    SELECT @.create_id_partitions('public.p%'::regclass, now(), now() + interval '2 hours', '1 hour'::interval, 'instagram'::text)
    INSERT INTO public.p% DEFAULT VALUES
    SELECT @.create_ticket('photos%'::text, 2, 3), @.next_ticket('photos%'::text)
    SELECT @.next_tickets('photos%'::text, 2)
    SELECT @.create_ticket('bills%'::text), @.next_ticket_gapless('bills%'::text)
    SELECT shardid.create_ticket_above('made%'::text, 1, 2, 10::bigint), shardid.create_ticket_above('made%'::text, 1, 2, 10::bigint)
    SELECT shardid.limit_ticket('made%'::text, 1000::bigint), shardid.raise_ticket('made%'::text, 20::bigint)
    SELECT shardid.restep_ticket('made%'::text, 2, 3, 2000::bigint)
    SELECT * FROM shardid.tickets
    SELECT @.create_segment('orders%'::text, 10::bigint), @.next_segment('orders%'::text), @.alter_segment('orders%'::text, 20::bigint)
    SELECT * FROM shardid.segments
    SELECT * FROM shardid.shards
    SELECT * FROM shardid.layouts
    UPDATE shardid.shard SET state = 'fenced' WHERE shard = %1
    UPDATE shardid.shard SET state = 'open' WHERE shard = %1
    DROP TABLE public.p%
    DROP SEQUENCE public.ids%
    SELECT @.drop_ticket('made%'::text), @.drop_ticket('bills%'::text), @.drop_ticket('photos%'::text), @.drop_segment('orders%'::text)
    CALL shardid.create_shards(%5, %6)
    SELECT @.shard_for('a'::text, 16), @.shard_for(1::bigint, 16), @.shard_for('a'::bytea, 16), @.shard_for('7f1d3c9e-0b52-4e6a-9a55-6f3a1f0c2d4e'::uuid, 16)
    SELECT @.drop_shard(%5), @.drop_shard(%6)
    SELECT @.drop_shard(%2)
    SELECT @.drop_shard(%1)
    SELECT @.create_shard(%1)
    SELECT @.drop_shard(%1)
    SELECT @.create_layout('unused%'::text, '2026-01-01Z'::timestamptz, '10 ms'::interval, 1000::bigint, 1000::bigint)
    DELETE FROM shardid.layout WHERE name = 'unused%'";

/// Calls everything, with all that is planted in sight.
fn call(client: &mut Client, path: &str, schema: &str, role: u32) {
    run(client, &format!("SET search_path = {path}"));
    for line in CALLS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let sql = line.replace("@.", &format!("{schema}.")).replace('%', &role.to_string());
        run(client, &sql);
    }
}

/// Calls every function that the extension has, as its catalog lists them, with values of its
/// argument types: what `CALLS` does not name, and what is said to nobody, is called too. Each call
/// is rolled back, and may be refused by anything but what is planted.
fn call_all(client: &mut Client, path: &str, role: u32) {
    let sql = "
        SELECT p.prokind = 'p', format('%I.%I', n.nspname, p.proname), ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) AND p.proargtypes::oid[] && ARRAY['internal'::regtype::oid] = false
            AND EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        ORDER BY 2, 3";
    run(client, "SET search_path = pg_catalog");
    let rows = client.query(sql, &[]).unwrap();
    assert!(rows.len() > 80, "only {} functions were found", rows.len());
    run(client, &format!("SET search_path = {path}"));
    for row in rows {
        let (is_procedure, name, types): (bool, String, Vec<String>) =
            (row.get(0), row.get(1), row.get(2));
        let of = |kind: &String| match kind.as_str() {
            "smallint" | "integer" | "bigint" => format!("{role}1::{kind}"),
            "boolean" => "true".to_owned(),
            "text" => format!("'orders{role}'::text"),
            "name" | "cstring" => format!("'two{role}'::{kind}"),
            "bytea" => "'0123456789abcdef'::bytea".to_owned(),
            "uuid" => "'7f1d3c9e-0b52-4e6a-9a55-6f3a1f0c2d4e'::uuid".to_owned(),
            "oid" | "regclass" => "'public.kept'::regclass".to_owned(),
            "shardid.regsequence" => "'public.kept'::shardid.regsequence".to_owned(),
            "timestamp with time zone" => "pg_catalog.now()".to_owned(),
            "interval" => "'1 hour'::interval".to_owned(),
            // Rows, arrays and whatever comes later: of these the function sees nothing.
            other => format!("NULL::{other}"),
        };
        let arguments: Vec<String> = types.iter().map(of).collect();
        let word = if is_procedure { "CALL" } else { "SELECT" };
        let sql = format!("{word} {name}({})", arguments.join(", "));
        run(client, "BEGIN");
        if let Err(error) = client.batch_execute(&sql) {
            let code = error.code().map(|code| code.code().to_owned());
            assert_ne!(code.as_deref(), Some(RAN), "{sql}: {error:?}");
            assert!(code.is_some(), "{sql} ended the session: {error:?}");
        }
        run(client, "ROLLBACK");
    }
}

/// What depends on something planted, other than what was planted itself.
const DEPENDENT: &str = "
    SELECT coalesce(string_agg(format('%s on %s', pg_describe_object(d.classid, d.objid, 0), pg_describe_object(d.refclassid, d.refobjid, 0)), '; '), '')
    FROM pg_depend d
    WHERE d.classid <> 'pg_operator'::regclass AND d.deptype <> 'e' AND (
        d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT p.oid FROM pg_proc p WHERE p.prosrc LIKE '%planted:%')
        OR d.refclassid = 'pg_operator'::regclass AND d.refobjid IN (SELECT o.oid FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode WHERE p.prosrc LIKE '%planted:%'))";

/// A database of a role that is no superuser, with all planted that this role can plant.
pub(crate) fn prepared() -> (Database<'static>, String) {
    let database = Database::fresh_plain();
    let owner = database.role("owner");
    database.psql(&format!(
        "ALTER DATABASE {} OWNER TO {owner}; ALTER SCHEMA public OWNER TO {owner}; CREATE SCHEMA evil AUTHORIZATION {owner}",
        database.name()
    ));
    (database, owner)
}

fn plant_all(client: &mut Client) {
    for schema in ["evil", "public"] {
        let planted = plant(client, schema, false);
        assert!(planted > 1500, "only {planted} were planted: the test would prove little");
    }
}

/// Calls everything as owner and as superuser, before and after the schema was renamed.
fn nothing_planted_runs(database: &Database<'_>, owner: &str) {
    let dependent = || {
        let mut client = database.connect();
        run(&mut client, "SET search_path = pg_catalog");
        one::<String>(&mut client, DEPENDENT)
    };
    database.psql("CREATE SEQUENCE public.kept");
    let mut client = database.connect_as(owner);
    assert_eq!(
        plant(&mut client, "shardid", false),
        0,
        "a role that is no superuser makes functions in schema shardid"
    );
    expect_error(&mut client, "CREATE TABLE shardid.mine ()", "42501");
    expect_error(&mut client, "ALTER SCHEMA shardid RENAME TO mine", "42501");
    let others = "SELECT coalesce(string_agg(pg_describe_object(d.classid, d.objid, 0), ', '), '') FROM pg_depend d \
         WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid') \
             AND 10 <> coalesce((SELECT nspowner FROM pg_namespace n WHERE n.oid = d.objid AND d.classid = 'pg_namespace'::regclass), \
                 (SELECT relowner FROM pg_class c WHERE c.oid = d.objid AND d.classid = 'pg_class'::regclass), \
                 (SELECT proowner FROM pg_proc p WHERE p.oid = d.objid AND d.classid = 'pg_proc'::regclass))";
    assert_eq!(one::<String>(&mut client, others), "", "these belong to somebody else");
    assert_eq!(dependent(), "");
    call(&mut client, "evil, public", "evil", 11);
    call(&mut database.connect(), "evil, public", "evil", 12);
    call_all(&mut client, "evil, public", 15);
    call_all(&mut database.connect(), "evil, public", 16);
    // Whoever owns a schema may rename it, and make another one of its name.
    run(&mut client, "ALTER SCHEMA evil RENAME TO good; CREATE SCHEMA evil");
    assert!(plant(&mut client, "evil", true) > 1500);
    call(&mut client, "evil, public, good", "good", 13);
    call(&mut database.connect(), "evil, public, good", "good", 14);
    call_all(&mut client, "evil, public, good", 17);
    call_all(&mut database.connect(), "evil, public, good", 18);
    assert_eq!(dependent(), "");
}

#[test]
fn an_owner_who_installs_it_runs_nothing_with_anothers_rights() {
    let (database, owner) = prepared();
    let mut client = database.connect_as(&owner);
    plant_all(&mut client);
    run(&mut client, "SET search_path = evil, public; CREATE EXTENSION shardid SCHEMA evil");
    nothing_planted_runs(&database, &owner);
}

#[test]
fn an_owner_runs_nothing_with_the_rights_of_a_superuser_who_installs_it() {
    let (database, owner) = prepared();
    plant_all(&mut database.connect_as(&owner));
    let superuser = database.role("superuser");
    database.psql(&format!("ALTER ROLE {superuser} SUPERUSER"));
    let mut client = database.connect_as(&superuser);
    run(&mut client, "SET search_path = evil, public; CREATE EXTENSION shardid SCHEMA evil");
    run(&mut client, &grants(&owner));
    // Who is no superuser any more has no more than a role that the owner lets make shards.
    run(&mut database.connect(), &format!("ALTER ROLE {superuser} NOSUPERUSER"));
    nothing_planted_runs(&database, &owner);
    expect_error(&mut client, "CREATE FUNCTION shardid.mine() RETURNS int RETURN 1", "42501");
    expect_error(&mut client, "ALTER FUNCTION shardid.take_gapless(text) RENAME TO mine", "42501");
    database.psql(&format!("ALTER ROLE {superuser} SUPERUSER"));
    run(&mut client, "DROP EXTENSION shardid CASCADE");
}

#[test]
fn an_owner_runs_nothing_with_the_rights_of_a_superuser_who_updates_it() {
    let (database, owner) = prepared();
    database
        .psql("CREATE EXTENSION shardid SCHEMA evil VERSION '0.1.0'; SELECT evil.create_shard(5)");
    database.psql(&format!("GRANT USAGE, CREATE ON SCHEMA shardid TO {owner}"));
    plant_all(&mut database.connect_as(&owner));
    let mut client = database.connect_as(&owner);
    assert!(plant(&mut client, "shardid", false) > 1500);
    let update = "SET search_path = evil, public; ALTER EXTENSION shardid UPDATE";
    let refusal = expect_error(&mut database.connect(), update, "42501");
    let planted = format!("function shardid.raise_ticket(text,integer) of role {owner}");
    assert!(refusal.detail.contains(&planted), "{refusal:?}");
    // Away with them, as the hint says.
    run(
        &mut client,
        "CREATE SCHEMA elsewhere; DO $do$ DECLARE one record; BEGIN \
             FOR one IN SELECT 'FUNCTION' AS kind, p.oid::regprocedure::text AS name FROM pg_proc p WHERE p.pronamespace = 'shardid'::regnamespace AND p.proowner = current_user::regrole \
                 UNION ALL SELECT 'OPERATOR', o.oid::regoperator::text FROM pg_operator o WHERE o.oprnamespace = 'shardid'::regnamespace AND o.oprowner = current_user::regrole LOOP \
                 EXECUTE format('ALTER %s %s SET SCHEMA elsewhere', one.kind, one.name); \
             END LOOP; END $do$",
    );
    run(&mut database.connect(), update);
    database.psql(&grants(&owner));
    nothing_planted_runs(&database, &owner);
}

/// All that the owner of the extension may give away.
fn grants(role: &str) -> String {
    format!(
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA evil, shardid TO {role}; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shardid TO {role}; \
         GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA shardid TO {role}"
    )
}

/// The script of 0.1.0 looks functions up where it is installed, and is frozen.
#[test]
fn the_script_of_0_1_0_is_for_superusers() {
    let (database, owner) = prepared();
    let mut client = database.connect_as(&owner);
    expect_error(&mut client, "CREATE EXTENSION shardid VERSION '0.1.0'", "42501");
    run(
        &mut database.connect(),
        "CREATE EXTENSION shardid VERSION '0.1.0'; ALTER EXTENSION shardid UPDATE",
    );
    database.psql("DROP EXTENSION shardid");
    run(&mut client, "CREATE EXTENSION shardid");
}
