//! What kinds of objects are there? The server's own headers and its pg_dump say so, and the zoo has one
//! of each: a new kind of a new version makes a test fail here, and not a user's move.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use shardid_tests::Installation;

use crate::shared;
use crate::zoo::Zoo;

const WORDS: &str = include_str!("zoo_words.txt");

/// How the letters of a kind begin in the headers, and where the zoo has them.
const LETTERS: [(&str, &str); 17] = [
    (
        "AGGKIND_",
        "SELECT a.aggkind FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid WHERE p.pronamespace = $1",
    ),
    (
        "AGGMODIFY_",
        "SELECT a.aggfinalmodify FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid WHERE p.pronamespace = $1",
    ),
    (
        "AMOP_",
        "SELECT a.amoppurpose FROM pg_amop a JOIN pg_opfamily f ON f.oid = a.amopfamily WHERE f.opfnamespace = $1",
    ),
    (
        "ATTRIBUTE_IDENTITY_",
        "SELECT a.attidentity FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = $1",
    ),
    (
        "ATTRIBUTE_GENERATED_",
        "SELECT a.attgenerated FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = $1",
    ),
    ("RELKIND_", "SELECT relkind FROM pg_class WHERE relnamespace = $1"),
    ("RELPERSISTENCE_", "SELECT relpersistence FROM pg_class WHERE relnamespace = $1"),
    (
        "REPLICA_IDENTITY_",
        "SELECT relreplident FROM pg_class WHERE relnamespace = $1 AND relkind = 'r'",
    ),
    ("COLLPROVIDER_", "SELECT collprovider FROM pg_collation WHERE collnamespace = $1"),
    ("CONSTRAINT_", "SELECT contype FROM pg_constraint WHERE connamespace = $1"),
    ("DEFACLOBJ_", "SELECT defaclobjtype FROM pg_default_acl WHERE defaclnamespace = $1"),
    ("PROKIND_", "SELECT prokind FROM pg_proc WHERE pronamespace = $1"),
    ("PROVOLATILE_", "SELECT provolatile FROM pg_proc WHERE pronamespace = $1"),
    ("PROPARALLEL_", "SELECT proparallel FROM pg_proc WHERE pronamespace = $1"),
    (
        "PROARGMODE_",
        "SELECT unnest(coalesce(proargmodes, '{i}')) FROM pg_proc WHERE pronamespace = $1",
    ),
    ("STATS_EXT_", "SELECT unnest(stxkind) FROM pg_statistic_ext WHERE stxnamespace = $1"),
    ("TYPTYPE_", "SELECT typtype FROM pg_type WHERE typnamespace = $1"),
];

/// What the zoo cannot have, and why.
const ELSEWHERE: &str = "
    AMTYPE_ LOGICALREP_ SUBREL_: of the database
    TYPCATEGORY_ TYPALIGN_ TYPSTORAGE_: how a type is written, which goes with it
    RELKIND_TOASTVALUE: goes with its table
    RELKIND_FOREIGN_TABLE REPLICA_IDENTITY_NOTHING: refused
    RELPERSISTENCE_TEMP: seen by one session
    RELPERSISTENCE_UNLOGGED: refused
    COLLPROVIDER_DEFAULT: of the system alone
    DEFACLOBJ_NAMESPACE DEFACLOBJ_LARGEOBJECT: of the whole database alone
    CONSTRAINT_ASSERTION: there are none yet
";

/// The letters that the headers of the catalogs have names for.
fn letters() -> BTreeMap<String, char> {
    let config = Installation::get().program("pg_config");
    let output = std::process::Command::new(config).arg("--includedir-server").output();
    let folder = String::from_utf8(output.expect("pg_config runs").stdout).expect("a path");
    let folder = PathBuf::from(folder.trim()).join("catalog");
    let mut letters = BTreeMap::new();
    for file in
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let text = fs::read_to_string(file.expect("it can be listed").path()).unwrap_or_default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some("#define"), Some(name), Some(letter)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            if let ['\'', letter, '\''] = letter.chars().collect::<Vec<_>>()[..] {
                letters.insert(name.to_owned(), letter);
            }
        }
    }
    letters
}

#[test]
fn the_zoo_has_every_kind_that_the_headers_of_the_catalogs_name() {
    let mut zoo = Zoo::open(shared::estate());
    let schema = zoo.schema.clone();
    let elsewhere: Vec<&str> = ELSEWHERE
        .lines()
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(names, _)| names.split_whitespace())
        .collect();
    let has = |query: &str| -> BTreeSet<char> {
        let query = query.replace("$1", "(SELECT oid FROM pg_namespace WHERE nspname = $1)");
        let query = format!("SELECT DISTINCT k::text FROM ({query}) AS found (k)");
        let rows = zoo.client.query(query.as_str(), &[&schema]).unwrap();
        rows.iter().filter_map(|row| row.get::<_, String>(0).chars().next()).collect()
    };
    let there: Vec<(&str, BTreeSet<char>)> = LETTERS
        .into_iter()
        .zip(LETTERS.map(|(_, query)| query).map(has))
        .map(|((begin, _), has)| (begin, has))
        .collect();
    let letters = letters();
    assert!(letters.len() > 60, "{letters:?}");
    let mut missed = Vec::new();
    for (name, letter) in &letters {
        let is_elsewhere = elsewhere
            .iter()
            .any(|other| name == other || other.ends_with('_') && name.starts_with(other));
        let known = there.iter().find(|(begin, _)| name.starts_with(begin));
        let is_there = known.is_some_and(|(_, has)| has.contains(letter));
        if is_there == is_elsewhere {
            missed.push((name, letter, is_there));
        }
    }
    assert!(missed.is_empty(), "neither in the zoo nor elsewhere, or both: {missed:?}");
}

#[test]
fn the_zoo_has_every_kind_that_pg_dump_knows() {
    let zoo = Zoo::open(shared::estate());
    let installation = Installation::get();
    let program = fs::read(installation.program("pg_dump")).expect("it is a file");
    let is_of_word = |byte: &u8| byte.is_ascii_uppercase() || *byte == b' ';
    let words: BTreeSet<String> = program
        .split(|byte| *byte == 0)
        // Longer ones are what pads a section.
        .filter(|word| (3..=40).contains(&word.len()) && word.iter().all(is_of_word))
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .filter(|word| !word.starts_with(' ') && !word.ends_with(' '))
        .collect();
    assert!(words.len() > 100 && words.contains("TEXT SEARCH PARSER"), "{words:?}");
    // `id; catalog oid KIND schema name owner`, where the kind is all words in capitals.
    let server = shared::estate().node("pg1");
    let pattern = format!("\"{}\"", zoo.schema.replace('"', "\"\""));
    let dump = server
        .command("pg_dump")
        .args(["--dbname=app", "--format=custom", "--schema-only", "--schema"])
        .arg(pattern)
        .output();
    let dump = dump.expect("pg_dump runs");
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), dump.stdout).expect("it is ours");
    let list = installation.client("pg_restore").arg("--list").arg(file.path()).output();
    let list = String::from_utf8(list.expect("pg_restore runs").stdout).expect("it speaks UTF-8");
    let mut kinds = BTreeSet::new();
    for line in list.lines().filter(|line| !line.starts_with(';') && !line.is_empty()) {
        let rest = line.splitn(4, ' ').nth(3).expect("a line has a kind");
        let capitals = |word: &&str| word.bytes().all(|byte| byte.is_ascii_uppercase());
        kinds.insert(rest.split(' ').take_while(capitals).collect::<Vec<_>>().join(" "));
    }
    let known: BTreeSet<&str> = WORDS.lines().filter(|line| !line.starts_with('#')).collect();
    let is_known = |word: &&String| known.contains(word.as_str()) || kinds.contains(*word);
    let new: Vec<&String> = words.iter().filter(|word| !is_known(word)).collect();
    assert!(new.is_empty(), "new kinds, or no kinds at all: {new:?}");
    let not_so: Vec<&String> = kinds.iter().filter(|kind| known.contains(kind.as_str())).collect();
    let refused = ["MATERIALIZED VIEW"];
    assert!(not_so.iter().all(|kind| refused.contains(&kind.as_str())), "the zoo has {not_so:?}");
    assert!(kinds.len() > 35, "{kinds:?}");
}
