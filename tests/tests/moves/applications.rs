//! The schemas of two applications that are in wide use, as their packages ship them, with the rows that
//! they begin with. `SHARDID_SCHEMAS` names the folder that `scripts/schemas` has made.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use shardid_tests::estate::{DATABASE, Estate, schema};

/// An application's schema in a shard, on nodes of its own: the script that makes it is a long
/// transaction, and streams that begin meanwhile would wait for its end.
struct Application {
    estate: Estate,
    shard: u32,
    schema: String,
}

impl Application {
    /// Has the application's own script make its schema.
    fn install(name: &str) -> Self {
        let folder = std::env::var_os("SHARDID_SCHEMAS").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/servers/schemas")),
            PathBuf::from,
        );
        let file = folder.join(format!("{name}.sql"));
        let script = std::fs::File::open(&file)
            .unwrap_or_else(|error| panic!("{}: {error}: run scripts/schemas", file.display()));
        let (estate, shard) = (Estate::start(2, 2), 0);
        let application = Self { estate, shard, schema: schema(shard) };
        let mut psql = application.estate.node("pg1").command("psql");
        psql.args(["-Xq", "-v", "ON_ERROR_STOP=1", "-d", DATABASE])
            .env("PGOPTIONS", format!("-c search_path={}", application.schema))
            .stdin(script)
            .stdout(Stdio::null());
        assert!(psql.status().expect("psql runs").success(), "{name}");
        application
    }

    /// The definitions, as pg_dump writes them; those of the fence on a copy that was left are not the schema's.
    fn definitions(&self, node: &str) -> String {
        let mut dump = self.estate.node(node).command("pg_dump");
        dump.args(["--schema-only", "-d", DATABASE, "-n", &self.schema]);
        let text = String::from_utf8(dump.output().expect("pg_dump runs").stdout).expect("UTF-8");
        assert!(text.contains("CREATE TABLE"), "{text}");
        let lines = text.lines().filter(|line| !line.starts_with("\\"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Each table's rows: how many, and what is in them, in any order.
    fn rows(&self, node: &str) -> BTreeMap<String, String> {
        let list = format!(
            "SELECT relname FROM pg_class WHERE relnamespace = '{}'::regnamespace AND relkind = 'r'",
            self.schema
        );
        let tables = self.estate.psql(node, &list);
        let one = |table: &str| {
            format!(
                "SELECT '{table}', count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) FROM {}.{table} t",
                self.schema
            )
        };
        let all: Vec<String> = tables.lines().map(one).collect();
        let found = self.estate.psql(node, &all.join(" UNION ALL "));
        let parts =
            |line: &str| line.split_once('|').map(|(name, rows)| (name.into(), rows.into()));
        found.lines().map(|line| parts(line).expect("three columns")).collect()
    }

    /// It moves whole, and comes back with what was written meanwhile.
    fn travels(&self, tables: usize, write: &str) {
        let (definitions, rows) = (self.definitions("pg1"), self.rows("pg1"));
        assert_eq!(rows.len(), tables, "{rows:?}");
        let number = self.shard.to_string();
        self.estate.run(&["move", &number, "--to", "pg2", "--verify", "full", "--yes"]).ok();
        assert_eq!(self.definitions("pg2"), definitions);
        assert_eq!(self.rows("pg2"), rows);

        self.estate.psql("pg2", &format!("SET search_path = {}; {write}", self.schema));
        let written = self.rows("pg2");
        assert_ne!(written, rows, "{write}");
        self.estate.say("rollback", &self.estate.last_move(self.shard)).ok();
        assert_eq!(self.rows("pg1"), written);
        assert_eq!(self.definitions("pg1"), definitions);
        self.estate.assert_no_trace(self.shard);
    }
}

#[test]
fn zabbix_moves_and_comes_back() {
    let zabbix = Application::install("zabbix");
    zabbix.travels(
        173,
        "UPDATE items SET name = name || ' (moved)'; DELETE FROM images WHERE imageid % 2 = 0;
         INSERT INTO media_type (mediatypeid, type, name) VALUES (999, 0, 'a new one')",
    );
}

#[test]
fn icinga_moves_and_comes_back() {
    let icinga = Application::install("icinga");
    icinga.travels(
        61,
        "INSERT INTO icinga_instances (instance_name) SELECT 'one of ' || n FROM generate_series(1, 100) n;
         INSERT INTO icinga_logentries (instance_id, logentry_data) SELECT instance_id, instance_name FROM icinga_instances",
    );
}
