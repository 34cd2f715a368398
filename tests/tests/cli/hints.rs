//! No hint destroys what the program could mend.

use std::fs;
use std::path::{Path, PathBuf};

use shardid_tests::said::{SAID, WORDS};

/// Words that drop something in what our sources do, and do not say: where, a part of the line,
/// and why it may stand there.
const DONE: &[(&str, &str, &str)] = &[
    ("catalog/V10__nodes_go.sql", "DROP CONSTRAINT", "a statement: references of our own journal"),
    (
        "move/fence/take_away.sql",
        "'DROP TRIGGER' AS verb",
        "a statement: takes our own triggers away around a shard that is open",
    ),
    (
        "move/fence/raise.sql",
        "BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE",
        "a statement: the fence",
    ),
    (
        "move/fence/raise.sql",
        "BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW",
        "a statement: the fence, for what replicates",
    ),
    (
        "move/carry/guard_copy.sql",
        "BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE",
        "a statement: the guard of a copy that is being made",
    ),
    (
        "move/carry/guard_rows.sql",
        "AFTER INSERT OR UPDATE OR DELETE ON %1$s FOR EACH ROW",
        "a statement: the guard of a copy that is being made, for what replicates",
    ),
    (
        "move/copy/let_rows.sql",
        "DROP TRIGGER %I ON %I.%I",
        "a statement: that guard, before sessions of the program copy anew",
    ),
    (
        "move/clean/drop_schema.sql",
        "DELETE FROM shardid.id_sequence",
        "a statement: of a copy that the journal says is old",
    ),
    (
        "move/clean/drop_schema.sql",
        "DROP SCHEMA",
        "a statement: of a copy that the journal says is old",
    ),
    ("mysql/migrate.rs", "DROP TABLE IF EXISTS shardid.", "read in our migrations, not said"),
    (
        "mysql/migrate.rs",
        "DROP USER IF EXISTS",
        "nobody has that name: what goes are the grants that are left of it",
    ),
    (
        "move/copy/filled.sql",
        "TRUNCATE ONLY",
        "a statement: of a new copy to which no stream leads yet, whose rows are copied anew",
    ),
    ("move/stream/unpublish.sql", "DROP PUBLICATION", "a statement: of our own publication"),
    (
        "move/stream/keep_kinds.sql",
        "DROP EVENT TRIGGER IF EXISTS",
        "a statement: of what a move has made while it copies, in a schema of its own; made anew in the same one",
    ),
    (
        "move/stream/let_kinds.sql",
        "DROP EVENT TRIGGER IF EXISTS",
        "a statement: of what a move has made while it copies, in a schema of its own",
    ),
    (
        "move/stream/keep_name.sql",
        "DROP EVENT TRIGGER IF EXISTS",
        "a statement: of what a move has made while it stands, in a schema of its own; made anew in the same one",
    ),
    (
        "move/stream/let_others.sql",
        "DROP EVENT TRIGGER IF EXISTS",
        "a statement: of what a move that is over has made while it stood, in a schema of its own",
    ),
    (
        "move/stream/drop_unused.sql",
        "DROP FUNCTION",
        "a statement: of what a move has made while it stands, in a schema of its own",
    ),
    (
        "move/stream/let_name.sql",
        "DROP EVENT TRIGGER IF EXISTS",
        "a statement: of what a move has made while it stands, in a schema of its own",
    ),
    ("move/stream/unsubscribe.sql", "DROP SUBSCRIPTION", "a statement: of our own subscription"),
    (
        "move/stream/drop_role.sql",
        "DROP OWNED BY",
        "a statement: of a role of ours; what it owns was made by code of a shard's owners",
    ),
    ("move/stream/drop_role.sql", "DROP ROLE", "a statement: of a role of ours"),
    (
        "follow/let_follow.sql",
        "DROP ROLE IF EXISTS",
        "a statement: of a role of ours, which the server refuses while it owns anything",
    ),
    (
        "follow/forget.sql",
        "DROP ROLE",
        "a statement: of a role of ours, which the server refuses while it owns anything",
    ),
    ("follow/bound_rights.sql", "GRANT SELECT", "a right, to apply what comes"),
    (
        "apply/remove_node.sql",
        "DELETE FROM shardid.node",
        "a statement: the map refuses it while the node holds shards",
    ),
    (
        "tickets/forget_servers.sql",
        "DELETE FROM shardid.ticket_server",
        "a statement: written anew in the same transaction",
    ),
    (
        "apply/rebuild_cluster.sql",
        "DELETE FROM shardid.map",
        "a statement: written anew in the same transaction",
    ),
    (
        "apply/close_catalog.sql",
        "DELETE FROM shardid.map",
        "a statement: of a catalog without unfinished moves, which another one takes over from; the map is taken from the nodes",
    ),
    (
        "catalog/V13__node_number.sql",
        "DROP CONSTRAINT map_node_fkey",
        "a statement: it is made anew in the same one",
    ),
    (
        "mysql/routines.rs",
        "DROP {} IF EXISTS shardid.{name}",
        "a statement: of a routine of ours, which the next one makes",
    ),
    (
        "moving/same.rs",
        "INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER",
        "privileges as pg_dump lists them",
    ),
    ("dev/mysql.sql", "DROP USER IF EXISTS", "a statement: of a server that was just made"),
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the sources") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// Files of the sources with their texts.
fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut found = Vec::new();
    for folder in folders {
        files(&root.join(folder), &mut found);
    }
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("text");
        (file.display().to_string(), text)
    };
    found.into_iter().map(read).collect()
}

/// The hints in the SQL of the extension: from the word on to the end of its statement.
fn hints_of_sql(text: &str) -> Vec<String> {
    let begun = text.split("HINT = ").skip(1);
    begun
        .map(|rest| {
            let mut is_quoted = false;
            let end = rest.find(|c| {
                is_quoted ^= c == '\'';
                c == ';' && !is_quoted
            });
            let words: Vec<&str> = rest[..end.expect("it ends")].split_whitespace().collect();
            words.join(" ")
        })
        .collect()
}

/// The hints in the SQL for MySQL, with what is before them in the message: a statement each.
fn hints_of_mysql(text: &str) -> Vec<String> {
    let mut hints = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.contains("hint:") {
            let mut hint = line.trim().to_owned();
            while !hint.ends_with(';') {
                hint.push_str(lines.next().expect("a statement ends"));
            }
            hints.push(hint);
        }
    }
    hints
}

/// Whether a hint drops something, in whichever words.
fn drops(hint: &str) -> bool {
    let hint = hint.to_ascii_lowercase();
    let is_word = |at: usize| !hint[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    ["drop", "delete", "truncat"]
        .iter()
        .any(|word| hint.match_indices(word).any(|(at, _)| is_word(at)))
}

#[test]
fn whatever_our_words_would_drop_stands_on_a_short_list_with_its_reason() {
    let known: Vec<_> = DONE.iter().chain(SAID).collect();
    let mut used = vec![false; known.len()];
    let mut unknown = Vec::new();
    let mut look = |file: &str, line: &str| {
        let is_known =
            |known: &&(&str, &str, &str)| file.ends_with(known.0) && line.contains(known.1);
        match known.iter().position(is_known) {
            Some(n) => used[n] = true,
            None => unknown.push(format!("{file}: {line}")),
        }
    };
    // What is said and what is done: all of it.
    let ours = ["sql/postgres", "migrator/src", "crates/cluster/src", "pg_extension/src"];
    for (file, text) in sources(&ours) {
        // Tests of a module come last in its file.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in text.lines().map(str::trim) {
            let is_comment = line.starts_with("--") || line.starts_with("//");
            if !is_comment && WORDS.iter().any(|word| line.contains(word)) {
                look(&file, line);
            }
        }
    }
    // On servers, hints alone: their functions drop what they are told to.
    let mut hints = 0;
    let of_extension = sources(&["pg_extension/sql"]).into_iter().map(|f| (f, true));
    let of_mysql = sources(&["sql/mysql"]).into_iter().map(|f| (f, false));
    for ((file, text), is_extension) in of_extension.chain(of_mysql) {
        let said = if is_extension { hints_of_sql(&text) } else { hints_of_mysql(&text) };
        hints += said.len();
        for hint in said.iter().filter(|hint| drops(hint)) {
            look(&file, hint);
        }
    }
    assert!(hints > 300, "only {hints} hints were found: are they written in another way now?");
    assert_eq!(unknown, Vec::<String>::new(), "say why, or name a command that mends it");
    let stale: Vec<_> = known.iter().zip(used).filter(|(_, used)| !used).collect();
    assert!(stale.is_empty(), "not in the sources any more: {stale:?}");
}
