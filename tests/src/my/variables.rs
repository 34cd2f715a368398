//! What a session may set, as the server itself enumerates it.
//!
//! Of each variable of a session some other legal values: both of a boolean, each of an enumeration, each flag of
//! a set alone, none and all of them, and of a number the least, the largest and one between. What a server does
//! not enumerate is a word: of character sets, collations and engines those that it has.

use mysql::Conn;
use rand::Rng;
use rand::rngs::StdRng;

use super::{Engine, Server, query, try_query};
use crate::rng;

/// A value that a session may set, other than the one that it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The variable, in lower case.
    pub name: String,
    /// The value, as it is written in SQL.
    pub value: String,
    /// Whether sessions may begin with it by `SET GLOBAL`.
    pub is_global: bool,
    /// Whether it may be set without any privilege.
    pub is_everybodys: bool,
}

impl Setting {
    /// The statement by which a session has it.
    pub fn set(&self) -> String {
        format!("SET SESSION {} = {}", self.name, self.value)
    }
}

/// A variable with values that may be legal.
struct Variable {
    name: String,
    is_global: bool,
    values: Vec<String>,
}

/// All settings of a server that is made for it: the tables that say them are not everywhere.
pub fn settings(engine: Engine) -> Vec<Setting> {
    let server = Server::builder(engine).name("the server that is asked for its variables");
    let server = match engine {
        Engine::MySql => server.option("--performance-schema=ON"),
        Engine::MariaDb => server,
    };
    let server = server.bare().start();
    server.query("CREATE USER web IDENTIFIED BY 'secret of web'");
    let variables = match engine {
        Engine::MariaDb => of_mariadb(&mut server.connect()),
        Engine::MySql => of_mysql(&mut server.connect()),
    };
    variables.into_iter().flat_map(|variable| legal(&server, variable)).collect()
}

/// Those of its values that the server takes, and that are not what a session has anyway. What a value does to
/// the rest of a session is not known, so each has one of its own.
fn legal(server: &Server, variable: Variable) -> Vec<Setting> {
    let Variable { name, is_global, values } = variable;
    let now = |client: &mut Conn| -> Option<String> {
        let sql = format!("SELECT CAST(@@SESSION.{name} AS CHAR)");
        try_query::<Option<String>>(client, &sql).ok()?.pop()?
    };
    let mut seen = vec![now(&mut server.connect())];
    let mut found = Vec::new();
    for value in values {
        let set = format!("SET SESSION {name} = {value}");
        let client = &mut server.connect();
        if try_query::<u64>(client, &set).is_err() {
            continue;
        }
        // Some values leave a session that cannot be asked; they are others.
        let becomes = now(client);
        if becomes.is_some() && seen.contains(&becomes) {
            continue;
        }
        seen.push(becomes);
        let web = &mut server.try_connect_as("web", "secret of web").expect("it may connect");
        let is_everybodys = try_query::<u64>(web, &set).is_ok();
        found.push(Setting { name: name.clone(), value, is_global, is_everybodys });
    }
    found
}

fn of_mariadb(client: &mut Conn) -> Vec<Variable> {
    type Row = (String, bool, String, Option<String>, Option<String>, Option<String>);
    let rows: Vec<Row> = query(
        client,
        "SELECT lower(variable_name), variable_scope = 'SESSION', variable_type, numeric_min_value, numeric_max_value, enum_value_list
         FROM information_schema.system_variables
         WHERE variable_scope LIKE 'SESSION%' AND read_only = 'NO' ORDER BY 1",
    );
    let words = Words::of(client);
    let between = &mut rng("variables");
    let values =
        |name: &str, kind: &str, limits: (Option<String>, Option<String>), list: Option<String>| {
            let flags: Vec<&str> = list.iter().flat_map(|list| list.split(',')).collect();
            match (kind, &flags[..]) {
                ("BOOLEAN", _) => vec!["0".into(), "1".into()],
                ("ENUM", [_, ..]) => flags.iter().map(|one| quoted(one)).collect(),
                ("SET", _) => set(&flags),
                ("FLAGSET", _) => switches(flags.into_iter().filter(|one| *one != "default")),
                ("VARCHAR" | "ENUM", _) => words.of_variable(name),
                (_, _) => numbers(limits, kind == "DOUBLE", between),
            }
        };
    rows.into_iter()
        .scan(values, |values, (name, is_global, kind, least, most, list)| {
            let values = values(&name, &kind, (least, most), list);
            Some(Variable { name, is_global, values })
        })
        .collect()
}

fn of_mysql(client: &mut Conn) -> Vec<Variable> {
    type Row = (String, bool, String, Option<String>, Option<String>, Option<String>);
    let rows: Vec<Row> = query(
        client,
        "SELECT m.variable_name, m.variable_scope = 'SESSION', m.data_type, m.min_value, m.max_value, v.variable_value
         FROM performance_schema.variables_metadata m JOIN performance_schema.session_variables v USING (variable_name)
         WHERE m.variable_scope <> 'GLOBAL' ORDER BY 1",
    );
    let words = Words::of(client);
    let between = &mut rng("variables");
    rows.into_iter()
        .map(|(name, is_global, kind, least, most, now)| {
            let now = now.unwrap_or_default();
            let values = match &*kind {
                "Boolean" => vec!["0".into(), "1".into()],
                // By their places; the server says which there are.
                "Enumeration" => (0..16).map(|place| place.to_string()).collect(),
                "Set" if now.contains('=') => {
                    switches(now.split(',').filter_map(|one| one.split('=').next()))
                }
                "Set" => {
                    let flags = (0..64).map(|place| (1u64 << place).to_string());
                    std::iter::once("0".to_owned()).chain(flags).collect()
                }
                "String" => words.of_variable(&name),
                _ => numbers((least, most), kind == "Numeric", between),
            };
            Variable { name, is_global, values }
        })
        .collect()
}

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

/// None of the flags, each alone, and all.
fn set(flags: &[&str]) -> Vec<String> {
    let each = flags.iter().copied().map(quoted);
    std::iter::once(quoted("")).chain(each).chain([quoted(&flags.join(","))]).collect()
}

/// Each switch on and off, and all of them.
fn switches<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let to = |state: &str| names.iter().map(|name| format!("{name}={state}")).collect::<Vec<_>>();
    let each = [to("on"), to("off")].concat();
    let all = [to("on").join(","), to("off").join(",")];
    each.iter().chain(&all).map(|text| quoted(text)).collect()
}

/// The least, the largest, and one between that is as likely small as large.
fn numbers(
    limits: (Option<String>, Option<String>),
    has_fractions: bool,
    rng: &mut StdRng,
) -> Vec<String> {
    let (Some(least), Some(most)) = limits else { return Vec::new() };
    let whole = |text: &str| text.parse::<f64>().unwrap_or(0.0).max(1.0).ln();
    let (low, high) = (whole(&least), whole(&most));
    let between = if low < high { rng.random_range(low..high).exp() } else { low.exp() };
    let mut values = vec![least, most, format!("{between:.0}")];
    values.extend(has_fractions.then(|| "0.001".to_owned()));
    values
}

/// What is a word to a server.
struct Words {
    character_sets: Vec<String>,
    collations: Vec<String>,
    engines: Vec<String>,
}

impl Words {
    fn of(client: &mut Conn) -> Self {
        let mut ask =
            |sql: &str| query::<String>(client, sql).iter().map(|it| quoted(it)).collect();
        Self {
            character_sets: ask(
                "SELECT character_set_name FROM information_schema.character_sets ORDER BY 1",
            ),
            // One of a character set shows what the others do.
            collations: ask(
                "SELECT min(collation_name) FROM information_schema.collations WHERE collation_name IS NOT NULL GROUP BY character_set_name ORDER BY 1",
            ),
            engines: ask(
                "SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT') ORDER BY 1",
            ),
        }
    }

    fn of_variable(&self, name: &str) -> Vec<String> {
        let some = |words: &[&str]| words.iter().map(|word| quoted(word)).collect();
        match name {
            _ if name.starts_with("character_set_") => self.character_sets.clone(),
            _ if name.contains("collation") => self.collations.clone(),
            _ if name.contains("storage_engine") => self.engines.clone(),
            "time_zone" => some(&["+14:00", "-12:00", "+05:30", "SYSTEM"]),
            "lc_messages" | "lc_time_names" => some(&["de_DE", "ar_AE", "ja_JP"]),
            "system_versioning_asof" => some(&["2020-01-01 00:00:00"]),
            "session_track_system_variables" => some(&["*", ""]),
            _ => some(&["", "x"]),
        }
    }
}
