//! What would drop something and may yet be said: no hint destroys what the program could mend.
//!
//! `tests/cli/hints.rs` looks for it in the sources; [`assert_harmless`] in whatever the program
//! says, in each run of each test.

/// What may be said: the end of the file's name that says it, a part of it, and why.
pub const SAID: &[(&str, &str, &str)] = &[
    ("move/check/kinds.sql", "DROP FOREIGN TABLE", "its rows are elsewhere"),
    ("move/check/kinds.sql", "DROP MATERIALIZED VIEW", "its rows are made from others"),
    ("move/check/kinds.sql", "DROP CAST", "it holds no rows, and is made anew by one statement"),
    (
        "move/check/border.sql",
        "ALTER EXTENSION %I DROP %s %s;",
        "the object stays, and is no part of the extension any more",
    ),
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
        "of a role that no move in the journal knows; what it owns was made by code of a shard's owners, and holds none of the shard's rows",
    ),
    (
        "move/clean/unguarded.sql",
        "CREATE OR REPLACE TRIGGER shardid_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s",
        "puts the guard back that refuses these",
    ),
    (
        "move/clean/unguarded.sql",
        "CREATE OR REPLACE TRIGGER shardid_fence_rows BEFORE INSERT OR UPDATE OR DELETE ON %s",
        "puts the guard back that refuses these",
    ),
    (
        "session/own_catalog.sql",
        "DROP TRIGGER IF EXISTS %I ON %s",
        "a plain role has hung it on the catalog",
    ),
    (
        "session/own_catalog.sql",
        "DROP CONSTRAINT IF EXISTS",
        "a plain role's key that refers to the catalog; its rows stay",
    ),
    ("verify/plain_defaults.rs", "DROP IDENTITY", "the column stays, and so do its rows"),
    ("tickets/problems.rs", "CALL shardid.drop_shard(…)", "it drops a generator, and no rows"),
    (
        "src/report.rs",
        "ALTER SEQUENCE or TRUNCATE ... RESTART IDENTITY made it",
        "what somebody did, no hint",
    ),
    (
        "0.2.0.sql",
        "DELETE FROM shardid.layout WHERE name = ...; where it is unused",
        "to who said TRUNCATE: a layout that is in use is kept by a trigger",
    ),
    (
        "0.2.0.sql",
        "ALTER COLUMN ... DROP DEFAULT; first.",
        "to who drops its generator: column and rows stay",
    ),
    (
        "0.2.0.sql",
        "DROP SEQUENCE ...; first.",
        "to who drops their shard: generators of ids, which remember how far they went",
    ),
    ("0.2.0.sql", "DROP EXTENSION forgets it: do not", "warns of it"),
    (
        "0.2.0.sql",
        "drop_segment(%L); then, with a start above all of them",
        "its sequence was dropped before: it is made anew above all its numbers",
    ),
    (
        "0.2.0.sql",
        "are removed by drop_shard(), drop_ticket() and drop_segment()",
        "to who said TRUNCATE: these ask whether something is in use, and remember how far it went",
    ),
    (
        "0.1.0--0.2.0.sql",
        "ALTER EXTENSION shardid DROP ...; for what is not its own",
        "the object stays, and is no part of the extension any more",
    ),
    (
        "0.1.0--0.2.0.sql",
        "refused until then, as before; drop_shard() forgets it",
        "a generator that is too far ahead to be used; a shard's rows stay",
    ),
    (
        "0.1.0.sql",
        "DELETE FROM shardid.layout WHERE name = …; where it is unused",
        "frozen; as in 0.2.0",
    ),
    ("0.1.0.sql", "ALTER COLUMN … DROP DEFAULT; first.", "frozen; as in 0.2.0"),
    ("0.1.0.sql", "DROP SEQUENCE …; first.", "frozen; as in 0.2.0"),
    ("0.1.0.sql", "drop_ticket(%L); then, with a number above all", "frozen; as in 0.2.0"),
    (
        "0.1.0.sql",
        "Rename it, or drop it if its numbers may come again",
        "frozen; 0.2.0 says to rename it",
    ),
    (
        ".sql",
        "which is not here: hint: drop the trigger",
        "on MySQL, in files of before that are frozen: V51 says to make the shard again",
    ),
];

/// Words that drop something, in our sources and in what the program says.
pub const WORDS: [&str; 6] =
    ["DROP ", "DELETE ", "TRUNCATE", "drop_shard(", "drop_ticket(", "drop_segment("];

/// Asserts that nobody is told to drop something but what is on the list.
///
/// # Panics
///
/// With the line that says it.
#[track_caller]
pub fn assert_harmless(text: &str) {
    let mut is_statement = false;
    for line in text.lines() {
        // A server's error comes with the statement that it is about: the user's own.
        is_statement = match line.strip_prefix("  ") {
            Some(detail) => is_statement || detail.starts_with("statement"),
            None => false,
        };
        let is_said = |(_, part, _): &(&str, &str, &str)| {
            // What the program fills in ends the part that is looked for.
            line.contains(part.split(['%', '…', '{']).next().unwrap_or(part))
        };
        // "GRANT SELECT, DELETE ON" and "DELETE command denied to user" speak of a right.
        let is_right = line.contains("GRANT ") || line.contains(" command denied to user");
        let without_rights = without_revoked(line);
        let drops = !is_right && WORDS.iter().any(|word| without_rights.contains(word));
        assert!(
            is_statement || !drops || SAID.iter().any(is_said),
            "this would drop something, and is not in tests/src/said.rs: {line}"
        );
    }
}

/// A line without the rights between `REVOKE` and `ON`.
fn without_revoked(line: &str) -> String {
    let mut parts = line.split("REVOKE ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(part.split_once(" ON ").map_or(part, |(_rights, rest)| rest));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::assert_harmless;

    #[test]
    fn what_the_program_could_mend_is_not_to_be_dropped() {
        assert_harmless("error: shard 6 is fenced\n\nhint: `shardid resume 6`");
        assert_harmless("pg1: slot x is read by nobody: `DROP SUBSCRIPTION shardid_move_1`");
        assert_harmless(
            "error: no\n  statement: CREATE TRIGGER t BEFORE DELETE OR\n  TRUNCATE ON a",
        );
        assert_harmless("hint: REVOKE DELETE, TRUNCATE ON TABLE a FROM b;");
        for said in [
            "hint: DROP SCHEMA shard_0006 CASCADE",
            "pg2: rows are twice: `DELETE FROM shard_0006.item`",
            "error: no\n  statement: SELECT\n\nhint: DROP TRIGGER fence ON a",
            "hint: SELECT shardid.drop_shard(6)",
            "hint: REVOKE DELETE ON a FROM b; DROP TABLE a",
        ] {
            assert!(std::panic::catch_unwind(|| assert_harmless(said)).is_err(), "{said}");
        }
    }
}
