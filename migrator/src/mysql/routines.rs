//! The routines, triggers and views of the schema: each as the last migration that makes it says.
//!
//! Migrations replace what earlier ones made. What is missing, or is left of an earlier one by a
//! program that was cut, is made from its last text alone: earlier texts never stand again.

use std::collections::{BTreeMap, BTreeSet};

use shardid_cluster::NodeName;
use sqlx::mysql::MySqlConnection;

use super::migrations::SCHEMA;
use crate::failure::Failure;
use crate::mysql::{failure, sql};

/// A routine, trigger or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Routine {
    /// Its kind and name in lower case, such as `function next_id`.
    pub(super) name: String,
    /// The statement that makes it.
    create: String,
}

impl Routine {
    /// The statements that make it, or make it anew.
    pub(super) fn statements(&self) -> String {
        match self.name.split_once(' ') {
            Some(("view", _)) | None => format!("{}\n", self.create),
            Some((kind, name)) => {
                format!("DROP {} IF EXISTS shardid.{name};\n{}\n", kind.to_uppercase(), self.create)
            }
        }
    }

    /// Whether a server that says this of its body has it as it is here. A view's is in the
    /// server's own words.
    fn is_as(&self, body: &str, is_mariadb: bool) -> bool {
        let plain = |text| plain(text, is_mariadb);
        self.name.starts_with("view ") || plain(&self.create).ends_with(&plain(body))
    }
}

/// A text without what a server may leave out of it or write otherwise: comments, which clients may strip,
/// but for those that it runs itself, space, and how a literal is quoted.
fn plain(text: &str, is_mariadb: bool) -> String {
    let other = if is_mariadb { "/*!" } else { "/*M!" };
    let mut parts = text.split(other);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    parts.for_each(|part| kept.push_str(part.split_once("*/").map_or("", |(_, after)| after)));
    // MySQL's have the version from which on they are run.
    let mut parts = kept.split("/*!");
    let first = parts.next().unwrap_or_default().to_owned();
    let kept = parts
        .fold(first, |kept, part| kept + part.trim_start_matches(|c: char| c.is_ascii_digit()));
    let kept = kept.replace("/*M!", "").replace("*/", "").replace("\\n", "\n");
    let kept: String =
        kept.lines().map(|line| line.split_once("-- ").map_or(line, |(code, _)| code)).collect();
    let kept = kept.trim().trim_end_matches(';');
    kept.chars().filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\')).collect()
}

/// What a statement makes or drops, by kind and name in lower case, from its first line.
fn named(line: &str) -> Option<(&str, String)> {
    let (verb, rest) = line.split_once(' ')?;
    let (kind, name) = rest.split_once(" shardid.")?;
    let kind = kind.trim_end_matches(" IF EXISTS");
    let kind = kind.trim_start_matches("OR REPLACE SQL SECURITY DEFINER ").to_lowercase();
    let name = name.split(['(', ';', ' ']).next()?.to_lowercase();
    let is_routine = matches!(&*kind, "function" | "procedure" | "trigger" | "view");
    (is_routine && matches!(verb, "CREATE" | "DROP")).then(|| (verb, format!("{kind} {name}")))
}

/// The number of a migration, by the name of its file, such as `V12__shard`.
fn version(file: &str) -> Option<u32> {
    file.strip_prefix('V')?.split_once("__")?.0.parse().ok()
}

/// All that the schema has, in the order in which it is made.
pub(super) fn all() -> Vec<Routine> {
    let mut made: Vec<Routine> = Vec::new();
    let mut files: Vec<_> = SCHEMA.iter().collect();
    files.sort_by_key(|(name, _)| version(name));
    for (_, text) in files {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some((verb, name)) = named(line) else { continue };
            made.retain(|routine| routine.name != name);
            if verb == "CREATE" {
                made.push(Routine { name, create: statement(line, &mut lines) });
            }
        }
    }
    made
}

/// A statement that begins with a line: up to `END;` or `END LOOP;` where its body is one of these, which may have a
/// label, else up to the first line that ends with `;`. In a file of the schema neither end of a body is indented.
fn statement<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut text = vec![first];
    let mut is_block = false;
    let mut line = first;
    loop {
        let begins = |word: &str| line == word || line.ends_with(&format!(": {word}"));
        is_block |= !line.starts_with(' ') && (begins("BEGIN") || begins("LOOP"));
        if line.ends_with(';') && (!is_block || line.starts_with("END")) {
            return text.join("\n");
        }
        match lines.next() {
            Some(next) => line = next,
            None => return text.join("\n"),
        }
        text.push(line);
    }
}

/// The routines that a text drops.
pub(super) fn dropped_by(sql: &str) -> BTreeSet<String> {
    let dropped = sql.lines().filter_map(named).filter(|(verb, _)| *verb == "DROP");
    let names = dropped.map(|(_, name)| name);
    names.filter(|it| it.starts_with("function ") || it.starts_with("procedure ")).collect()
}

/// Those that are not there, and those that are not as the schema has them, though the history says
/// that they were made: a dump leaves routines and triggers out, unless it is made with `--routines
/// --triggers`; one that was cut leaves views that show nothing; and a program that was cut leaves
/// those of an earlier version. What its caller may not read is taken for right.
pub(super) async fn to_make(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<Vec<Routine>, Failure> {
    let there = there(connection, node).await?;
    let bodies: Vec<(String, String)> = sqlx::query_as(sql!("look/bodies.sql"))
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| failure(node, &error))?;
    let bodies: BTreeMap<String, String> = bodies.into_iter().collect();
    let is_mariadb = sqlx::query_scalar(sql!("look/is_mariadb.sql")).fetch_one(connection).await;
    let is_mariadb: bool = is_mariadb.map_err(|error| failure(node, &error))?;
    let is_right = |routine: &Routine| {
        there.contains(&routine.name)
            && bodies.get(&routine.name).is_none_or(|body| routine.is_as(body, is_mariadb))
    };
    Ok(all().into_iter().filter(|routine| !is_right(routine)).collect())
}

/// Whether none of all functions and procedures is there. No program leaves a server so on which something was made.
pub(super) async fn are_all_gone(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<bool, Failure> {
    let there = there(connection, node).await?;
    Ok(!there.iter().any(|it| it.starts_with("function ") || it.starts_with("procedure ")))
}

/// The routines, triggers and views that are there, by kind and name.
pub(super) async fn there(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<Vec<String>, Failure> {
    let there = sqlx::query_scalar(sql!("look/routines.sql")).fetch_all(connection).await;
    there.map_err(|error| failure(node, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routines_of_the_schema_are_known_by_kind_and_name() {
        let all: BTreeSet<String> = all().into_iter().map(|routine| routine.name).collect();
        for one in [
            "trigger before_tickets64",
            "function next_id",
            "function next_tickets",
            "procedure next_tickets",
            "view tickets",
        ] {
            assert!(all.contains(one), "{one} is not in {all:?}");
        }
        assert!(all.len() > 40, "{all:?}");
        assert!(!all.contains("procedure note_block"), "a later file drops it");
    }

    #[test]
    fn a_routine_is_one_whole_statement_of_the_last_file_that_makes_it() {
        for Routine { name, create } in all() {
            let heads = create.lines().filter(|line| named(line).is_some()).count();
            assert_eq!(heads, 1, "{name}: {create}");
            assert!(create.ends_with(';'), "{name}: {create}");
            let count =
                |word: &str| create.lines().filter(|line| line.trim_end().ends_with(word)).count();
            assert_eq!(count("LOOP"), count("END LOOP;"), "{name}: {create}");
        }
        let next_id = all().into_iter().find(|it| it.name == "function next_id").unwrap();
        assert!(!next_id.create.contains("@shardid"), "{}", next_id.create);
    }

    #[test]
    fn a_body_is_known_whatever_a_server_leaves_out_of_it() {
        let routine = Routine {
            name: "function f".into(),
            create: "CREATE FUNCTION shardid.f() RETURNS INT\nBEGIN\n    RETURN /*!80000 1 */ /*M! 2 */;\nEND;".into(),
        };
        assert!(routine.is_as("BEGIN\n    -- Of now.\n    RETURN 2;\nEND", true));
        // MariaDB leaves the other engine's comment out, and MySQL may keep it.
        assert!(routine.is_as("BEGIN\n    RETURN  2 ;\nEND", true));
        assert!(routine.is_as("BEGIN\n    RETURN 1 /*M! 2 */;\nEND", false));
        assert!(!routine.is_as("BEGIN\n    RETURN 1;\nEND", true));
        assert!(!routine.is_as("BEGIN\n    RETURN 2;\nEND", false));
    }
}
