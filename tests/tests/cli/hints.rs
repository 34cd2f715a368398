//! No hint destroys what the program could mend.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that drop something, in what our sources say or do: where, a part of the line, and
/// why it may stand there.
const KNOWN: &[(&str, &str, &str)] = &[
    ("catalog/V10__nodes_go.sql", "DROP CONSTRAINT", "a statement: references of our own journal"),
    (
        "move/fence/remove.sql",
        "DROP TRIGGER %I",
        "a statement: takes our own trigger away, which is switched off",
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
        "move/clean/drop_schema.sql",
        "DELETE FROM shardid.id_sequence",
        "a statement: of a copy that the journal says is old",
    ),
    (
        "move/clean/drop_schema.sql",
        "DROP SCHEMA",
        "a statement: of a copy that the journal says is old",
    ),
    ("move/clean/before.sql", "ON COMMIT DROP", "a temporary table of ours"),
    ("mysql/migrate.rs", "DROP TABLE IF EXISTS shardid.", "read in our migrations, not said"),
    ("mysql/migrate.rs", "line.strip_prefix(", "read in our migrations, not said"),
    (
        "mysql/migrate.rs",
        "DROP USER IF EXISTS",
        "nobody has that name: what goes are the grants that are left of it",
    ),
    ("move/stream/unpublish.sql", "DROP PUBLICATION", "a statement: of our own publication"),
    ("move/stream/unsubscribe.sql", "DROP SUBSCRIPTION", "a statement: of our own subscription"),
    (
        "move/stream/unsubscribe.sql",
        "DROP OWNED BY",
        "a statement: of the role that was made for our own subscription",
    ),
    (
        "move/stream/drop_role.sql",
        "DROP OWNED BY",
        "a statement: rights of a role of ours; what it owns is reassigned first",
    ),
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
    ("move/check/appliers.sql", "ARRAY['INSERT'", "the name of a right"),
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
        "a statement: of a catalogue without unfinished moves, which another one takes over from; the map is taken from the nodes",
    ),
    (
        "catalog/V13__node_number.sql",
        "DROP CONSTRAINT map_node_fkey",
        "a statement: it is made anew in the same one",
    ),
    ("move/check/kinds.sql", "DROP FOREIGN TABLE", "its rows are elsewhere"),
    ("move/check/kinds.sql", "DROP MATERIALIZED VIEW", "its rows are made from others"),
    ("move/check/kinds.sql", "DROP CAST", "it holds no rows, and is made anew by one statement"),
    (
        "verify/objects.sql",
        "DROP PUBLICATION",
        "of what no move in the journal knows; it holds no rows",
    ),
    (
        "verify/objects.sql",
        "DROP SUBSCRIPTION",
        "of what no move in the journal knows; it holds no rows",
    ),
    (
        "verify/objects.sql",
        "DROP OWNED BY",
        "rights of a role that no move in the journal knows; what it owns is reassigned first",
    ),
    ("verify/plain_defaults.rs", "DROP IDENTITY", "the column stays, and so do its rows"),
    ("tickets/problems.rs", "CALL shardid.drop_shard(…)", "it drops a generator, and no rows"),
    ("dev/mysql.sql", "DROP USER IF EXISTS", "a statement: of a server that was just made"),
];

const WORDS: [&str; 4] = ["DROP ", "DELETE ", "TRUNCATE", "drop_shard("];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the sources") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn whatever_our_words_would_drop_stands_on_a_short_list_with_its_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut found = Vec::new();
    for folder in ["sql/postgres", "migrator/src", "crates/cluster/src"] {
        files(&root.join(folder), &mut found);
    }
    let mut used = vec![false; KNOWN.len()];
    let mut unknown = Vec::new();
    for file in found {
        let text = fs::read_to_string(&file).expect("text");
        // Tests of a module come last in its file.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in text.lines().map(str::trim) {
            let is_comment = line.starts_with("--") || line.starts_with("//");
            if is_comment || !WORDS.iter().any(|word| line.contains(word)) {
                continue;
            }
            let known = |&(at, part, _): &(&str, &str, &str)| {
                file.to_string_lossy().ends_with(at) && line.contains(part)
            };
            match KNOWN.iter().position(known) {
                Some(n) => used[n] = true,
                None => unknown.push(format!("{}: {line}", file.display())),
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new(), "say why, or name a command that mends it");
    let stale: Vec<_> = KNOWN.iter().zip(used).filter(|(_, used)| !used).collect();
    assert!(stale.is_empty(), "not in the sources any more: {stale:?}");
}
