//! The fingerprint of a schema: every change of a definition is noticed by it, and nothing else is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use shardid_tests::Installation;
use shardid_tests::estate::Estate;
use shardid_tests::postgres::Client;

use crate::carried::{make_roles, rich};
use crate::shared;

const QUERIES: &str = concat!(
    include_str!("../../../sql/postgres/move/carry/physical.sql"),
    include_str!("../../../sql/postgres/move/carry/of_schema.sql"),
    include_str!("../../../sql/postgres/move/carry/fingerprint.sql")
);
const ROWS: &str = concat!(
    include_str!("../../../sql/postgres/move/carry/physical.sql"),
    include_str!("../../../sql/postgres/move/carry/of_schema.sql"),
    include_str!("../../../sql/postgres/move/carry/rows.sql")
);
pub(crate) const CHANGES: &str = include_str!("zoo_changes.sql");
const SAME: &str = include_str!("zoo_same.sql");

/// What a move refuses before it begins, and may be made while it is under way.
const NOT_CARRIED: &str = "CREATE MATERIALIZED VIEW \"@\".moods AS SELECT mood, count(*) FROM \"@\".customer GROUP BY mood";

/// Changes that show in no row but those of pg_depend, or in expressions alone, all of which pg_dump writes; and what is none of a copy.
const NOT_IN_ROWS: [&str; 7] = [
    "own ON \"@\".ticket USING",
    "DO INSTEAD SELECT",
    "OWNED BY",
    "DROP DEFAULT",
    "RETURN upper",
    "VIEW public.elsewhere",
    "CREATE PUBLICATION",
];

/// Catalogs of what cannot be part of a schema, and why a move need not look there.
const ELSEWHERE: &str = "
    pg_am pg_language pg_transform pg_extension: of the database; a move asks whether the target has them
    pg_foreign_data_wrapper pg_foreign_server pg_user_mapping pg_foreign_table: foreign tables are refused
    pg_event_trigger: of the database; that one needs the schema is seen by pg_depend
    pg_largeobject pg_largeobject_metadata: of the database, and of no schema
    pg_publication pg_publication_rel pg_publication_namespace pg_subscription_rel: replication, which is not carried
    pg_seclabel: not carried
    pg_init_privs: of extensions
";

/// A schema with one of everything, and how to ask for its fingerprint.
pub(crate) struct Zoo {
    pub(crate) client: Client,
    pub(crate) schema: String,
    shard: u32,
    noted: String,
    changed: String,
    rows: String,
}

impl Zoo {
    pub(crate) fn open(estate: &'static Estate) -> Self {
        make_roles(estate);
        let shard = shared::shard();
        let mut client = estate.node("pg1").connect("app");
        client.batch_execute("SET search_path = pg_catalog").unwrap();
        let row = client.query_one(QUERIES, &[]).unwrap();
        let rows = client.query_one(ROWS, &[]).unwrap().get(0);
        let schema = format!("Zoo \"{shard}\"");
        let zoo = Self { client, schema, shard, noted: row.get(0), changed: row.get(1), rows };
        let named = format!(
            "ALTER SCHEMA shard_{shard:04} RENAME TO \"@\"; {}; {NOT_CARRIED}",
            rich(Installation::get())
        );
        estate.psql("pg1", &zoo.filled(&named));
        zoo
    }

    fn filled(&self, sql: &str) -> String {
        let schema = self.schema.replace('"', "\"\"");
        sql.replace('@', &schema).replace('#', &self.shard.to_string())
    }

    fn run(&mut self, sql: &str) {
        let sql = self.filled(sql);
        self.client.batch_execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    fn take(&mut self) -> String {
        let noted = self.noted.clone();
        self.client.query_one(noted.as_str(), &[&self.schema, &"shardid_move_42"]).unwrap().get(0)
    }

    /// What the server's catalogs say, to be compared with what another server's say.
    fn rows(&mut self) -> BTreeSet<[String; 3]> {
        let rows = self.rows.clone();
        let own: &[String] = &[];
        let rows = self.client.query(rows.as_str(), &[&self.schema, &"shardid_move_42", &own]);
        rows.unwrap().iter().map(|row| [0, 3, 4].map(|column| row.get(column))).collect()
    }

    fn changed(&mut self, before: &str) -> Vec<String> {
        let changed = self.changed.clone();
        let rows =
            self.client.query(changed.as_str(), &[&self.schema, &"shardid_move_42", &before]);
        rows.unwrap().into_iter().map(|row| row.get(0)).collect()
    }
}

/// The statements of a file, one a line.
pub(crate) fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("--"))
}

#[test]
fn every_change_of_a_definition_is_noticed_and_named() {
    let mut zoo = Zoo::open(shared::estate());
    let (mut unseen, mut not_in_rows) = (Vec::new(), Vec::new());
    for change in statements(CHANGES) {
        let (before, rows) = (zoo.take(), zoo.rows());
        assert_eq!(zoo.changed(&before), [""; 0]);
        zoo.run(change);
        match zoo.changed(&before).as_slice() {
            [] => unseen.push(change),
            names => assert!(names.iter().all(|name| name.contains(' ')), "{change}: {names:?}"),
        }
        if zoo.rows() == rows {
            not_in_rows.push(change);
        }
    }
    zoo.run("DROP PUBLICATION somebodys");
    assert!(unseen.is_empty(), "{unseen:#?}");
    // A new copy is compared by these and by what pg_dump says, which has all expressions.
    not_in_rows.retain(|change| !NOT_IN_ROWS.iter().any(|of| change.contains(of)));
    assert!(not_in_rows.is_empty(), "{not_in_rows:#?}");
}

#[test]
fn rows_and_maintenance_and_our_own_objects_change_nothing() {
    let mut zoo = Zoo::open(shared::estate());
    let before = zoo.take();
    for statement in statements(SAME) {
        zoo.run(statement);
        assert_eq!(zoo.changed(&before), [""; 0], "{statement}");
    }
    zoo.run("DROP PUBLICATION shardid_move_42");
}

/// By construction the query asks every catalog; that the zoo has a row in each shows that it
/// reaches them. A server with a catalog that is new makes this fail, and not a user's move.
#[test]
fn the_fingerprint_reaches_every_catalog_that_an_object_of_a_schema_can_have_rows_in() {
    let mut zoo = Zoo::open(shared::estate());
    let lines = zoo.noted.split_once("), object (object, hash)").expect("it ends so").0.to_owned();
    let asked: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split_once("AS line FROM ")?.1.split(' ').next())
        .collect();
    assert!(asked.len() > 50, "{asked:?}");
    let counted = format!("{lines}) SELECT count(*) FROM line");
    let elsewhere: BTreeSet<&str> = ELSEWHERE
        .lines()
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(names, _)| names.split_whitespace())
        .collect();
    let mut reached = BTreeSet::new();
    for catalog in &asked {
        // The rows of all other catalogs left out.
        let only: Vec<String> = counted
            .lines()
            .map(|line| match line.split_once("AS line FROM ") {
                Some((_, rest)) if rest.split(' ').next() != Some(catalog) => {
                    line.replace(" OFFSET 0)", " AND false OFFSET 0)")
                }
                _ => line.replace(
                    "d::text AS line FROM depends d WHERE",
                    "d::text AS line FROM depends d WHERE false AND",
                ),
            })
            .collect();
        let rows: i64 = zoo
            .client
            .query_one(only.join("\n").as_str(), &[&zoo.schema, &"shardid_move_42"])
            .unwrap()
            .get(0);
        if rows > 0 {
            reached.insert(*catalog);
        }
    }
    let all: Vec<String> = zoo
        .client
        .query(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND NOT relisshared",
            &[],
        )
        .unwrap()
        .into_iter()
        .map(|row| row.get(0))
        .collect();
    let left_out = ["pg_statistic", "pg_statistic_ext_data", "pg_depend"];
    let missed: Vec<&String> = all
        .iter()
        .filter(|name| {
            !reached.contains(name.as_str())
                && !elsewhere.contains(name.as_str())
                && !left_out.contains(&name.as_str())
        })
        .collect();
    assert!(missed.is_empty(), "the zoo has nothing in {missed:?}");
    let known: Vec<&&str> = elsewhere.iter().filter(|name| reached.contains(**name)).collect();
    assert!(known.is_empty(), "{known:?} have rows of the schema after all");
}

/// It is made while writers wait. The zoo has some 250 objects. What a server takes to write out two
/// of its catalogs is the measure, as machines differ and others use them.
#[test]
fn the_last_look_at_a_schema_takes_milliseconds() {
    let mut zoo = Zoo::open(shared::estate());
    let before = zoo.take();
    zoo.run(include_str!("../../../sql/postgres/move/carry/by_index.sql"));
    let write_out =
        "SELECT count(d::text) + (SELECT count(a::text) FROM pg_attribute a) FROM pg_depend d";
    let (mut quick, mut measure) = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        let began = Instant::now();
        zoo.client.query_one(write_out, &[]).unwrap();
        measure = measure.min(began.elapsed());
        let began = Instant::now();
        assert_eq!(zoo.changed(&before), [""; 0]);
        quick = quick.min(began.elapsed());
    }
    let objects = before.matches("\": [\"").count();
    eprintln!("the last look at {objects} objects takes {quick:?}, the measure {measure:?}");
    assert!(objects > 200, "{objects}");
    assert!(quick < 5 * measure, "{quick:?}");
}
