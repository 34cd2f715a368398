//! What default privileges grant on all that is made is meant for a role's own things.

use shardid_tests::{Database, Installation, expect_error};

use crate::ask::run;

/// All that a role can be granted by them; 17 can say it of large objects as well, of which the
/// extension has none.
const KINDS: [&str; 5] = ["SEQUENCES", "TABLES", "FUNCTIONS", "SCHEMAS", "TYPES"];

/// Who may do what with what belongs to the extension, whatever has privileges.
const GRANTED: &str = "
    SELECT pg_describe_object(d.classid, d.objid, 0), a.acl FROM pg_depend d
    CROSS JOIN LATERAL (SELECT relacl FROM pg_class WHERE d.classid = 'pg_class'::regclass AND oid = d.objid
        UNION ALL SELECT nspacl FROM pg_namespace WHERE d.classid = 'pg_namespace'::regclass AND oid = d.objid
        UNION ALL SELECT coalesce(proacl, acldefault('f', proowner)) FROM pg_proc WHERE d.classid = 'pg_proc'::regclass AND oid = d.objid
        UNION ALL SELECT coalesce(typacl, acldefault('T', typowner)) FROM pg_type WHERE d.classid = 'pg_type'::regclass AND oid = d.objid
    ) AS x (acl)
    CROSS JOIN LATERAL (SELECT string_agg(concat_ws(' ', nullif(grantee, 0)::regrole, privilege_type, is_grantable), ', ' ORDER BY 1)
        FROM aclexplode(x.acl) WHERE grantee <> 10) AS a (acl)
    WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid')
    ORDER BY 1";

/// `take_numbers('shardid.horizon', …)` took the horizon to 2058, and a trigger on
/// `shardid.shard` ran as the superuser who made a shard.
#[test]
fn default_privileges_do_not_reach_into_the_extension() {
    let usual = Database::fresh().psql(GRANTED);
    for update in [false, true] {
        let database = Database::fresh_plain();
        let app = database.role("app");
        if update {
            database.psql(&format!(
                "CREATE EXTENSION shardid VERSION '0.1.0'; GRANT SELECT, TRIGGER ON shardid.shard TO {app}; \
                 GRANT EXECUTE ON FUNCTION create_shard(integer, name, text) TO {app}"
            ));
        }
        for kind in KINDS {
            for grantee in [app.as_str(), "PUBLIC"] {
                database
                    .psql(&format!("ALTER DEFAULT PRIVILEGES GRANT ALL ON {kind} TO {grantee}"));
            }
        }
        if update {
            database.psql("ALTER EXTENSION shardid UPDATE");
            // What was granted on what was there stays, but for what is of no use.
            let kept = format!(
                "SELECT has_table_privilege('{app}', 'shardid.shard', 'TRIGGER'); \
                 SELECT count(*) FROM pg_class CROSS JOIN aclexplode(relacl) WHERE oid = 'shardid.shard'::regclass AND grantee = '{app}'::regrole; \
                 SELECT count(*) FROM pg_proc CROSS JOIN aclexplode(proacl) WHERE proname = 'create_shard' AND pronargs = 5 \
                     AND pronamespace = 'public'::regnamespace AND grantee = '{app}'::regrole"
            );
            assert_eq!(database.psql(&kept), "f\n1\n1");
            database.psql(&format!(
                "REVOKE ALL ON shardid.shard FROM {app}; REVOKE ALL ON FUNCTION create_shard(integer, name, text, boolean, bigint) FROM {app}"
            ));
        } else {
            database.psql("CREATE EXTENSION shardid");
        }
        assert_eq!(database.psql(GRANTED), usual, "update: {update}");
        expect_error(
            &mut database.connect_as(&app),
            "SELECT shardid.take_numbers('shardid.horizon', 5)",
            "42501",
        );
    }
}

/// Hardened databases have it so, and nobody could take an id, nor read where they stand.
#[test]
fn default_privileges_that_take_away_leave_everybody_what_the_extension_gives() {
    let usual = Database::fresh().psql(GRANTED);
    for update in [false, true] {
        let database = Database::fresh_plain();
        let app = database.role("app");
        if update {
            database.psql("CREATE EXTENSION shardid VERSION '0.1.0'");
        }
        database.psql(
            "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC; \
             ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC",
        );
        database.psql(if update {
            "ALTER EXTENSION shardid UPDATE"
        } else {
            "CREATE EXTENSION shardid"
        });
        assert_eq!(database.psql(GRANTED), usual, "update: {update}");
        database.psql(&format!(
            "SELECT create_shard(5); GRANT USAGE ON SCHEMA shard_0005 TO {app}; \
             GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {app}"
        ));
        let mut client = database.connect_as(&app);
        run(&mut client, "SELECT next_id(5), id_time(1); SELECT * FROM shardid.shards");
    }
}

/// The event trigger looked a function up by its name, with the rights of whoever altered a table.
#[test]
fn whoever_has_no_right_to_schema_shardid_alters_and_drops_what_is_his() {
    let database = Database::fresh();
    let app = database.role("app");
    database.psql(&format!(
        "REVOKE USAGE ON SCHEMA shardid FROM PUBLIC; CREATE SCHEMA mine AUTHORIZATION {app}"
    ));
    let mut client = database.connect_as(&app);
    run(&mut client, "CREATE TABLE mine.t (id serial)");
    run(&mut client, "ALTER TABLE mine.t ADD COLUMN x int");
    run(&mut client, "DROP TABLE mine.t");
}

/// The update granted to everybody what had been taken from him.
#[test]
fn what_was_revoked_before_the_update_stays_revoked() {
    let database = Database::fresh_plain();
    let app = database.role("app");
    database.psql(&format!(
        "CREATE EXTENSION shardid VERSION '0.1.0'; SELECT create_shard(5); GRANT USAGE ON SCHEMA shard_0005 TO {app}; \
         GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {app}; \
         REVOKE SELECT ON ALL TABLES IN SCHEMA shardid FROM PUBLIC; \
         REVOKE EXECUTE ON FUNCTION next_id(integer), next_ids(integer, integer) FROM PUBLIC; \
         ALTER EXTENSION shardid UPDATE"
    ));
    let mut client = database.connect_as(&app);
    for sql in [
        "SELECT next_id(5)",
        "SELECT next_ids(5, 2)",
        "SELECT FROM shardid.ticket",
        "SELECT FROM shardid.shards",
    ] {
        expect_error(&mut client, sql, "42501");
    }
    database.psql(&format!("GRANT EXECUTE ON FUNCTION next_id(bigint) TO {app}"));
    run(&mut client, "SELECT next_id(5)");
    database.psql("REVOKE USAGE ON SCHEMA shardid FROM PUBLIC");
    run(&mut client, "SELECT next_id(5)");
}

/// An owner that does not inherit was told that all of it is for the owner.
#[test]
fn who_installs_it_and_may_make_nothing_is_told_why_and_what_to_do() {
    let database = Database::fresh_plain();
    let (owner, other) = (database.role("owner"), database.role("other"));
    let name = database.name();
    database.psql(&format!(
        "ALTER DATABASE {name} OWNER TO {owner}; GRANT CREATE ON DATABASE {name} TO {other}; GRANT CREATE ON SCHEMA public TO {owner}, {other}"
    ));
    let install = |role: &str| {
        let output = database
            .command("psql")
            .args([
                "-X",
                "-U",
                role,
                "-c",
                "CREATE EXTENSION shardid",
                "-c",
                "SELECT create_shard(5)",
            ])
            .output()
            .expect("psql runs");
        database.psql("DROP EXTENSION shardid CASCADE; DROP SCHEMA IF EXISTS shard_0005 CASCADE");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = install(&owner);
    assert_eq!(told, "");
    let told = install(&other);
    assert!(
        told.contains(&format!(
            "WARNING:  role {other} may use what shardid has, and make nothing"
        )),
        "{told}"
    );
    assert!(!told.contains("inherit"), "{told}");
    assert!(told.contains("permission denied for function create_shard"), "{told}");
    database.psql(&format!("ALTER ROLE {owner} NOINHERIT"));
    let told = install(&owner);
    // Later versions give an owner its rights in any case.
    if Installation::get().major() < 16 {
        assert!(told.contains("make nothing, as it does not inherit"), "{told}");
        assert!(told.contains(&format!("ALTER ROLE {owner} INHERIT;")), "{told}");
        assert!(told.contains("permission denied for function create_shard"), "{told}");
    } else {
        assert_eq!(told, "");
    }
}

/// The role could put triggers on the tables, and had the next superuser who made a ticket make it one.
#[test]
fn nothing_is_installed_that_an_event_trigger_gives_away() {
    for before in ["", "CREATE EXTENSION shardid VERSION '0.1.0'"] {
        let database = Database::fresh_plain();
        let team = database.role("team");
        let mut client = database.connect();
        run(&mut client, before);
        run(
            &mut client,
            &format!(
                "CREATE FUNCTION give() RETURNS event_trigger LANGUAGE plpgsql AS $$
                   DECLARE made record;
                   BEGIN
                     FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
                       EXECUTE format('ALTER TABLE %s OWNER TO {team}', made.object_identity);
                     END LOOP;
                   END $$;
                 CREATE EVENT TRIGGER give ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION give()"
            ),
        );
        let install = match before {
            "" => "CREATE EXTENSION shardid",
            _ => "ALTER EXTENSION shardid UPDATE",
        };
        let refusal = expect_error(&mut client, install, "42501");
        assert!(refusal.detail.contains(&format!("of role {team}")), "{refusal:?}");
        assert!(refusal.hint.contains("EVENT TRIGGER"), "{refusal:?}");
        run(
            &mut client,
            &format!(
                "ALTER EVENT TRIGGER give DISABLE; {install}; ALTER EVENT TRIGGER give ENABLE"
            ),
        );
        run(&mut client, "SELECT create_shard(5), create_ticket('t')");
    }
}
