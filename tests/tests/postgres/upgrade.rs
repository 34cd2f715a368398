//! ALTER EXTENSION UPDATE from every version that was ever shipped leads to what
//! a new installation has, and keeps shards and ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Refusal, Server, assert_unique, expect_error, wait_until};

use crate::ask::{column, ids, one, run, run_ahead};
use crate::dump::output;
use crate::surface::PRESENT;

/// Where the extension's SQL is kept; a script for each version, and one for each step.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../pg_extension/sql");

/// Every version that can be installed at once.
fn shipped() -> Vec<String> {
    let mut versions: Vec<String> = fs::read_dir(SCRIPTS)
        .expect("the scripts are there")
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_prefix("shardid--")?.strip_suffix(".sql")?.to_owned()))
        .filter(|version| !version.contains("--"))
        .collect();
    versions.sort();
    versions
}

/// A database with shards that are ahead of the clock, made by that version.
fn made_by(version: &str) -> (Database<'static>, i64) {
    let database = Database::fresh_plain();
    database.psql(&format!("CREATE EXTENSION shardid VERSION '{version}'"));
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000); SELECT create_shard(5), create_shard(6, layout => 'mine'); \
         SELECT create_id_sequence('photo_id', 5); CREATE TABLE t (a bigint DEFAULT next_id(5), b bigint DEFAULT next_id_from('photo_id')); \
         INSERT INTO t SELECT FROM generate_series(1, 100); \
         SELECT create_ticket('photos', 2, 2); SELECT next_tickets('photos', 5); SELECT create_segment('orders', 10), next_segment('orders')",
    );
    let last = run_ahead(&mut client, 5);
    (database, last)
}

#[test]
fn every_shipped_version_is_updated_to_what_a_new_installation_has() {
    let versions = shipped();
    assert!(versions.contains(&"0.1.0".to_owned()), "{versions:?}");
    let fresh = Database::fresh();
    let nobody = fresh.role("nobody");
    let present = PRESENT.replace("somebody", &nobody);
    let expected: Vec<String> = column(&mut fresh.connect(), &present);
    for version in versions {
        let (database, last) = made_by(&version);
        let mut knew = database.connect();
        run(&mut knew, "SELECT next_id(5), next_ticket('photos')");
        database.psql("ALTER EXTENSION shardid UPDATE");
        assert_eq!(ids(&mut knew, "SELECT next_ticket('photos')"), [14], "from {version}");
        assert_eq!(ids(&mut knew, "SELECT first FROM next_segment('orders')"), [11]);
        assert!(ids(&mut knew, "SELECT next_id(5)")[0] > last, "from {version}");
        assert!(ids(&mut database.connect(), "INSERT INTO t DEFAULT VALUES RETURNING a")[0] > last);
        run(
            &mut knew,
            "SELECT next_id(6), next_id_from('photo_id'); SELECT drop_shard(6); SELECT create_shard(6)",
        );
        let updated: Vec<String> = column(&mut database.connect(), &present);
        assert_eq!(updated, expected, "from {version}");
    }
}

/// What pg_dump says of the extension itself, member by member, as pg_upgrade has it do.
fn members(database: &Database) -> Vec<String> {
    let dumped = output(database.command("pg_dump").args(["--binary-upgrade", "--schema-only"]));
    dumped
        .lines()
        // Numbers of objects, of transactions and of the dump are each database's own.
        .filter(|line| {
            !["binary_upgrade", "relfrozenxid", "WHERE oid = "].iter().any(|own| line.contains(own))
        })
        .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"))
        .filter(|line| !line.contains("setval('shardid.horizon'"))
        .map(str::to_owned)
        .collect()
}

/// Three comments and a grant option were those of the version before.
#[test]
fn an_updated_extension_is_to_the_letter_what_a_new_one_is() {
    let fresh = Database::fresh();
    let expected = members(&fresh);
    assert!(expected.iter().any(|line| line.starts_with("COMMENT ON SCHEMA shardid")));
    for version in shipped() {
        let database = Database::fresh_plain();
        database.psql(&format!(
            "CREATE EXTENSION shardid VERSION '{version}'; ALTER EXTENSION shardid UPDATE"
        ));
        let updated = members(&database);
        let differs = |these: &[String], those: &[String]| -> Vec<String> {
            these.iter().filter(|line| !those.contains(line)).cloned().collect()
        };
        assert_eq!(differs(&updated, &expected), differs(&expected, &updated), "from {version}");
        assert!(updated == expected, "in another order from {version}");
    }
}

/// What a dump takes for given of the extension's privileges, of the objects of both versions.
fn initial_privileges(database: &Database<'_>) -> Vec<String> {
    let rows = database.psql(
        "SELECT pg_describe_object(p.classoid, p.objoid, p.objsubid) || ': ' || (SELECT string_agg(i::text, ' ' ORDER BY i::text) FROM unnest(p.initprivs) i)
             FROM pg_init_privs p JOIN pg_depend d ON (d.classid, d.objid, d.deptype) = (p.classoid, p.objoid, 'e')
             JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'shardid' ORDER BY 1",
    );
    rows.lines().map(str::to_owned).collect()
}

/// A dump left out what users had granted on tables and functions before an update.
#[test]
fn what_users_have_granted_before_an_update_is_in_dumps_after_it() {
    let fresh = initial_privileges(&Database::fresh());
    assert!(
        fresh.iter().any(|line| line.contains("pg_database_owner=arwd*")
            || line.contains("pg_database_owner=a*r*w*d*")),
        "{fresh:?}"
    );
    for version in shipped() {
        let database = Database::fresh_plain();
        let (maker, lead) = (database.role("maker"), database.role("lead"));
        database.psql(&format!(
            "CREATE EXTENSION shardid VERSION '{version}';
             GRANT EXECUTE ON FUNCTION create_shard TO {lead} WITH GRANT OPTION; SET ROLE {lead};
             GRANT EXECUTE ON FUNCTION create_shard TO {maker} WITH GRANT OPTION; RESET ROLE;
             GRANT INSERT, UPDATE ON shardid.shard TO {maker} WITH GRANT OPTION; GRANT UPDATE (shard) ON shardid.id_sequence TO {maker};
             GRANT EXECUTE ON FUNCTION create_ticket TO {maker}; REVOKE EXECUTE ON FUNCTION shardid.take_gapless FROM PUBLIC;
             GRANT USAGE ON SCHEMA shardid TO {maker}; REVOKE SELECT ON shardid.ticket FROM PUBLIC;
             ALTER EXTENSION shardid UPDATE"
        ));
        assert_eq!(initial_privileges(&database), fresh, "from {version}");
        let dump = database.command("pg_dump").output().expect("pg_dump runs");
        let dump = String::from_utf8(dump.stdout).expect("a dump is text");
        for granted in [
            format!("GRANT INSERT,UPDATE ON TABLE shardid.shard TO {maker} WITH GRANT OPTION;"),
            format!("GRANT UPDATE(shard) ON TABLE shardid.id_sequence TO {maker};"),
            format!("GRANT USAGE ON SCHEMA shardid TO {maker};"),
            "REVOKE SELECT ON TABLE shardid.ticket FROM PUBLIC;".to_owned(),
        ] {
            assert!(dump.contains(&granted), "{granted} is not in the dump, from {version}");
        }
        assert!(dump.contains(&format!("create_ticket(name text, server integer, servers integer, if_not_exists boolean) TO {maker};")), "from {version}");
    }
}

/// Its name in what dumps take for given outlived the role: a restore in one transaction and
/// `pg_upgrade` stopped there.
#[test]
fn the_role_that_has_installed_the_extension_may_leave_the_team() {
    for superuser in [false, true] {
        let database = Database::fresh_plain();
        let (leaves, stays) = (database.role("leaves"), database.role("stays"));
        let name = database.name().to_owned();
        database.psql(&format!("ALTER DATABASE {name} OWNER TO {leaves}"));
        if superuser {
            database.psql(&format!("ALTER ROLE {leaves} SUPERUSER"));
        }
        let mut first = database.connect_as(&leaves);
        run(&mut first, "CREATE EXTENSION shardid; SELECT create_shard(5)");
        run(&mut first, "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5))");
        drop(first);
        database.psql(&format!(
            "REASSIGN OWNED BY {leaves} TO {stays}; ALTER DATABASE {name} OWNER TO {stays}; DROP OWNED BY {leaves}; DROP ROLE {leaves}"
        ));
        // Who has the database has the rest, and may grant it on.
        let mut second = database.connect_as(&stays);
        run(&mut second, "SELECT create_shard(6), create_ticket('t'), create_segment('s', 10)");
        run(
            &mut second,
            "INSERT INTO t DEFAULT VALUES; GRANT INSERT ON shardid.shard TO pg_monitor",
        );
        let dangling = "SELECT count(*) FROM pg_init_privs p CROSS JOIN LATERAL aclexplode(p.initprivs) x
            WHERE x.grantee <> 0 AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = x.grantee AND (r.oid = 10 OR r.rolname ~ '^pg_'))";
        assert_eq!(database.psql(dangling), "0");
        let dump = database.command("pg_dump").output().expect("pg_dump runs");
        let copy = Database::fresh_plain();
        copy.psql(&format!(
            "BEGIN; {} COMMIT",
            String::from_utf8(dump.stdout).expect("a dump is text")
        ));
        assert_eq!(copy.psql("SELECT count(*) FROM shardid.shard"), "2");
    }
}

/// An upgrade script that is there for the length of a test.
struct Script(PathBuf);

impl Script {
    fn new(folder: &str, from: &str, to: &str, text: &str) -> Self {
        let file = Path::new(folder).join(format!("extension/shardid--{from}--{to}.sql"));
        fs::write(&file, text).expect("our own server's folder can be written");
        Self(file)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn an_update_to_a_next_version_keeps_shards_and_ids_in_sessions_that_go_on() {
    let database = Database::fresh();
    let now = database.psql("SELECT extversion FROM pg_extension WHERE extname = 'shardid'");
    let folder = database.psql("SELECT setting FROM pg_config() WHERE name = 'SHAREDIR'");
    let next = format!("99.{}", std::process::id());
    let _script = Script::new(
        &folder,
        &now,
        &next,
        "ALTER TABLE shardid.shard ADD COLUMN of_the_next_version int; \
         ALTER TABLE shardid.ticket ADD COLUMN of_the_next_version int; \
         CREATE OR REPLACE FUNCTION next_id(shard bigint) RETURNS bigint \
         LANGUAGE c VOLATILE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'shardid_next_id';",
    );
    let (database, last) = made_by(&now);
    let mut knew = database.connect();
    let before = ids(&mut knew, "SELECT next_id(5)")[0];
    assert_eq!(ids(&mut knew, "SELECT next_ticket('photos')"), [12]);
    database.psql(&format!("ALTER EXTENSION shardid UPDATE TO '{next}'"));
    assert!(ids(&mut knew, "SELECT next_id(5)")[0] > before);
    assert!(ids(&mut database.connect(), "INSERT INTO t DEFAULT VALUES RETURNING a")[0] > before);
    assert!(before > last);
    assert_eq!(ids(&mut knew, "SELECT next_ticket('photos')"), [14]);
    assert_eq!(ids(&mut database.connect(), "SELECT next_tickets('photos', 2)"), [16, 18]);
    run(
        &mut knew,
        "SELECT next_id(6), next_id_from('photo_id'), next_ids(5, 3); SELECT create_shard(7); SELECT drop_shard(7); \
         SELECT * FROM shardid.shards",
    );
    assert_eq!(
        database.psql("SELECT extversion FROM pg_extension WHERE extname = 'shardid'"),
        next
    );
}

/// One shard that anybody with the right to its sequence had put into 2060 took the horizon
/// there, and after a crash every shard was refused.
#[test]
fn a_generator_beyond_any_clock_does_not_take_the_others_there_at_the_update() {
    let server = Server::builder().fsync(false).start();
    let database = Database::plain_on(&server);
    database.psql(
        "CREATE EXTENSION shardid VERSION '0.1.0'; SELECT create_shard(5), create_shard(6); SELECT next_id(5); \
         SELECT setval('shard_0006.shard_id_seq', 8999999999999992832); ALTER EXTENSION shardid UPDATE; SELECT next_id(5)",
    );
    server.kill9();
    server.start();
    let mut client = database.connect();
    assert!(one::<bool>(
        &mut client,
        "SELECT id_time(next_id(5)) < clock_timestamp() + interval '1 min'"
    ));
    expect_error(&mut client, "SELECT next_id(6)", "55000");
}

/// The horizon of an updated database knew nothing of id sequences, nor of the rest of a tick;
/// and a session that had looked for it before the update never looked again.
#[test]
fn a_generator_that_is_ahead_at_the_update_may_be_restarted_after_it() {
    let database = Database::fresh_plain();
    database.psql("CREATE EXTENSION shardid VERSION '0.1.0'");
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(5), create_shard(6, layout => 'js53'); SELECT create_id_sequence('ids', 5)",
    );
    let generators = [
        ("next_id(5)", "shard_0005.shard_id_seq"),
        ("next_id(6)", "shard_0006.shard_id_seq"),
        ("next_id_from('ids')", "ids"),
    ];
    let take = |client: &mut Client, next: &str, count: i32| {
        ids(client, &format!("SELECT {next} FROM generate_series(1, {count})"))
    };
    let ahead = 30_000;
    for (next, sequence) in generators {
        let mut taken = take(&mut client, next, ahead);
        if next == generators[0].0 {
            database.psql("ALTER EXTENSION shardid UPDATE");
        }
        // By the session that took ids before the update, and by another one.
        taken.extend(take(&mut client, next, ahead));
        run(&mut client, &format!("ALTER SEQUENCE {sequence} RESTART"));
        taken.extend(take(&mut client, next, ahead));
        run(&mut client, &format!("ALTER SEQUENCE {sequence} RESTART"));
        taken.extend(take(&mut database.connect(), next, ahead));
        assert_unique(&[(next, taken)]);
    }
}

/// The relations and functions of a version, as a user may have built on them: kind, name, and what
/// goes in.
const BUILT_ON: &str = "
    SELECT c.relkind::text, c.oid::regclass::text, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attname <> 'sequence' OR c.relkind = 'v')
    FROM pg_depend d JOIN pg_class c ON c.oid = d.objid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND c.relkind IN ('r', 'v') AND c.relnamespace = 'shardid'::regnamespace GROUP BY c.oid, c.relkind
    UNION ALL
    SELECT 'f', p.oid::regproc::text, (SELECT string_agg(format('NULL::%s', format_type(t, NULL)), ', ') FROM unnest(p.proargtypes) t)
    FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
    WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND p.pronamespace IN ('public'::regnamespace, 'shardid'::regnamespace) AND p.prorettype NOT IN ('trigger'::regtype, 'void'::regtype)
    ORDER BY 2";

/// A view over `shardid.shards` stopped it, with the words of PostgreSQL: "cannot drop view".
#[test]
fn what_users_have_built_on_a_version_stays_or_is_named_before_the_update() {
    let versions = shipped();
    for version in versions.iter().filter(|version| *version != "0.2.0") {
        let (database, _) = made_by(version);
        let mut client = database.connect();
        let all: Vec<(String, String, String)> = client
            .query(BUILT_ON, &[])
            .unwrap()
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get::<_, Option<_>>(2).unwrap_or_default()))
            .collect();
        let mut views = Vec::new();
        let mut named = Vec::new();
        for (number, (kind, name, parts)) in all.iter().enumerate() {
            let sql = match kind.as_str() {
                "f" => format!("CREATE VIEW mine_{number} AS SELECT * FROM {name}({parts}) AS f"),
                _ => format!("CREATE VIEW mine_{number} AS SELECT {parts} FROM {name}"),
            };
            run(&mut client, &sql);
            // Each alone, so that one that is in the way hides no other.
            match client.batch_execute("BEGIN; ALTER EXTENSION shardid UPDATE") {
                Ok(()) => {
                    run(&mut client, "ROLLBACK");
                    views.push(number);
                }
                Err(error) => {
                    let refusal = Refusal::of(&error).expect("of the server");
                    run(&mut client, "ROLLBACK");
                    assert_eq!(refusal.sqlstate, "2BP01", "{sql}: {refusal:?}");
                    assert!(
                        refusal.message.contains("shardid cannot be updated"),
                        "{sql}: {refusal:?}"
                    );
                    assert!(
                        refusal.detail.contains(&format!("mine_{number}")),
                        "{sql}: {refusal:?}"
                    );
                    assert!(
                        refusal.hint.contains("pg_dump") && !refusal.hint.contains("CASCADE"),
                        "{refusal:?}"
                    );
                    assert_eq!(kind, "f", "{sql}: {refusal:?}");
                    run(&mut client, &format!("DROP VIEW mine_{number}"));
                    named.push(name.clone());
                }
            }
        }
        assert!(named.iter().any(|name| name.ends_with("create_shard")), "{named:?}");
        // A column that gets another type is named, too.
        run(&mut client, "CREATE MATERIALIZED VIEW direct AS SELECT sequence FROM shardid.shard");
        let refusal = expect_error(&mut client, "ALTER EXTENSION shardid UPDATE", "2BP01");
        assert!(refusal.detail.contains("direct"), "{refusal:?}");
        run(&mut client, "DROP MATERIALIZED VIEW direct");
        run(
            &mut client,
            "CREATE PUBLICATION rows FOR TABLE shardid.ticket WHERE (sequence IS NOT NULL), shardid.shard (shard, sequence)",
        );
        let refusal = expect_error(&mut client, "ALTER EXTENSION shardid UPDATE", "2BP01");
        assert!(refusal.detail.matches("in publication rows").count() == 2, "{refusal:?}");
        run(&mut client, "DROP PUBLICATION rows");
        let reader = database.role("reader");
        run(
            &mut client,
            &format!(
                "REVOKE SELECT ON shardid.shards FROM PUBLIC; GRANT SELECT ON shardid.shards TO {reader}"
            ),
        );
        run(&mut client, "ALTER EXTENSION shardid UPDATE");
        for number in views {
            let (kind, name, parts) = &all[number];
            if kind == "v" {
                let same = format!(
                    "SELECT count(*) FROM (SELECT {parts} FROM {name}) AS a FULL JOIN mine_{number} AS b ON a::text = b::text WHERE a IS NULL OR b IS NULL"
                );
                // The clock may go on between the two: a drift then differs.
                wait_until(Duration::from_secs(20), name, || ids(&mut client, &same) == [0]);
            }
        }
        run(&mut database.connect_as(&reader), "SELECT * FROM shardid.shards");
    }
}
