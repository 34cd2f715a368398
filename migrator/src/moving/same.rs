//! Do two servers have the same definitions? One pg_dump says it of both, up to how a server prints what it has read
//! from such a text; and where they are not of one major version, but for what such a pair is known to write differently.

use std::collections::{BTreeMap, BTreeSet};

use super::dumped::without_sequence_rules;
use super::move_session::MoveSession;
use super::reprinted::{self, tokens};
use crate::failure::Failure;

/// Definitions by their kind and name.
pub(super) type Definitions = BTreeMap<String, String>;

/// How definitions of two servers are compared: all there is, but for the rules of sequences, such as their increment. Those of
/// a copy that is not open are closed, and get the rules of the others when they are carried over.
pub(super) struct Comparison {
    /// Of which major version the first is, and the second.
    pub(super) majors: (i32, i32),
}

/// The major version of a server, as 15.
pub(super) fn major_of(server: &MoveSession) -> i32 {
    server.connection.server_version_num().map_or(0, |number| (number / 10_000) as i32)
}

impl Comparison {
    /// Of two servers.
    pub(super) fn of(one: &MoveSession, other: &MoveSession) -> Self {
        Self { majors: (major_of(one), major_of(other)) }
    }

    /// What there is in one alone, or in both in words that mean something else.
    pub(super) fn differences(&self, one: &Definitions, other: &Definitions) -> Vec<String> {
        let differs = |what: &str, text: &str| {
            other.get(what).is_none_or(|other| !self.is_same(what, text, other))
        };
        let first = one.iter().filter(|(what, text)| differs(what, text)).map(|(what, _)| what);
        first.chain(other.keys().filter(|what| !one.contains_key(*what))).cloned().collect()
    }

    fn is_same(&self, what: &str, one: &str, other: &str) -> bool {
        let is_bare = what.starts_with("SEQUENCE ");
        let bare =
            |text: &str| if is_bare { without_sequence_rules(text) } else { text.to_owned() };
        let (one, other) = (bare(one), bare(other));
        let ((older, from), (newer, to)) = match self.majors {
            (first, second) if first <= second => ((one, first), (other, second)),
            (first, second) => ((other, second), (one, first)),
        };
        let applies = |difference: &&Difference| {
            from < difference.since
                && difference.since <= to
                && difference.kinds.iter().any(|kind| what.starts_with(kind))
        };
        older == newer
            || reprinted::is_same(&older, &newer)
            || what.starts_with("POLICY ") && up_to_order_of_roles(&older, &newer)
            || what.starts_with("DEFAULT ACL ") && up_to_order_of_lines(&older, &newer)
            || DIFFERENCES.iter().filter(applies).any(|known| (known.is_same)(&older, &newer))
    }
}

/// What servers before a version write in other words than those from it on.
struct Difference {
    since: i32,
    kinds: &'static [&'static str],
    /// Whether two texts, of an older and a newer server, say the same.
    is_same: fn(&str, &str) -> bool,
}

/// All there is of that, for each pair of versions that has one of these between them. The zoo of the
/// tests, moved between them, has all of it and nothing else.
const DIFFERENCES: [Difference; 4] = [
    Difference { since: 16, kinds: &["VIEW ", "RULE "], is_same: up_to_qualifiers },
    Difference { since: 16, kinds: &["COLLATION "], is_same: up_to_locale },
    Difference { since: 17, kinds: &["ACL "], is_same: up_to_maintain },
    Difference { since: 18, kinds: &["TABLE "], is_same: up_to_names_of_not_null },
];

/// A view of one table has its columns without that table's name.
fn up_to_qualifiers(older: &str, newer: &str) -> bool {
    let (older, newer) = (tokens(older), tokens(newer));
    let (mut one, mut other) = (older.as_slice(), newer.as_slice());
    while let [first, rest @ ..] = one {
        if let [".", after @ ..] = rest
            && is_name(first)
            && !matches!(other, [same, ".", ..] if same == first)
        {
            one = after;
            continue;
        }
        match other {
            [same, rest_of_other @ ..] if same == first => (one, other) = (rest, rest_of_other),
            _ => return false,
        }
    }
    other.is_empty()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c == '"' || c == '_' || c.is_alphabetic())
}

/// The locale of ICU is written in its shortest form.
fn up_to_locale(older: &str, newer: &str) -> bool {
    let without = |text: &str| {
        let (before, rest) = text.split_once("(provider = icu, locale = '")?;
        Some((before.to_owned(), rest.split_once('\'')?.1.to_owned()))
    };
    without(older).is_some_and(|older| Some(older) == without(newer))
}

/// The roles of a policy are listed in the order in which a server has made them, or changed them last.
fn up_to_order_of_roles(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let words: Vec<String> = tokens(text).into_iter().map(str::to_owned).collect();
        let from = words.iter().position(|word| word == "TO").map_or(words.len(), |at| at + 1);
        let ends = |word: &String| ["USING", "WITH", ";"].contains(&word.as_str());
        let to = words[from..].iter().position(ends).map_or(words.len(), |at| from + at);
        let mut roles: Vec<String> = words[from..to].to_vec();
        roles.sort();
        [words[..from].to_vec(), roles, words[to..].to_vec()].concat()
    };
    sorted(one) == sorted(other)
}

/// Default privileges are kept in that order, too.
fn up_to_order_of_lines(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    sorted(one) == sorted(other)
}

/// There is one privilege more, which its owner has, and may keep where he has taken all others from himself.
fn up_to_maintain(older: &str, newer: &str) -> bool {
    let (older, newer) = (privileges(older), privileges(newer));
    older.is_some() && older == newer
}

/// Who has which privileges on a table by the statements of a dump, but for MAINTAIN; none where it is not one of these alone.
fn privileges(text: &str) -> Option<BTreeMap<String, BTreeSet<String>>> {
    const ALL: &str = "SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER";
    let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some((_, name)) = line.split_once("Owner: ") {
            held.insert(name.to_owned(), ALL.split(',').map(str::to_owned).collect());
            continue;
        }
        let line = line.strip_suffix(';')?;
        let (is_given, rest) = match (line.strip_prefix("GRANT "), line.strip_prefix("REVOKE ")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return None,
        };
        let (list, rest) = rest.split_once(" ON TABLE ")?;
        let (rest, option) = match rest.strip_suffix(" WITH GRANT OPTION") {
            Some(rest) => (rest, "*"),
            None => (rest, ""),
        };
        let (_, role) = rest.rsplit_once(if is_given { " TO " } else { " FROM " })?;
        let list = if list == "ALL" { ALL } else { list };
        let of = held.entry(role.to_owned()).or_default();
        for privilege in list.split(',').filter(|privilege| *privilege != "MAINTAIN") {
            match is_given {
                true => of.insert(format!("{privilege}{option}")),
                false => of.remove(privilege) | of.remove(&format!("{privilege}*")),
            };
        }
    }
    held.retain(|_, privileges| !privileges.is_empty());
    Some(held)
}

/// A NOT NULL has a name, which is written where it is not that of the table and the column, as where both together are too long.
fn up_to_names_of_not_null(older: &str, newer: &str) -> bool {
    let (older, newer) = (tokens(older), tokens(newer));
    let (mut one, mut other) = (older.as_slice(), newer.as_slice());
    loop {
        match (one, other) {
            (["NOT", "NULL", ..], ["CONSTRAINT", _, "NOT", "NULL", rest @ ..]) => {
                (one, other) = (&one[2..], rest);
            }
            ([first, rest @ ..], [same, rest_of_other @ ..]) if same == first => {
                (one, other) = (rest, rest_of_other);
            }
            (rest, rest_of_other) => return rest.is_empty() && rest_of_other.is_empty(),
        }
    }
}

/// Whether our pg_dump can read all of these servers.
pub(super) async fn is_read(servers: &[&MoveSession]) -> Result<bool, Failure> {
    let version = super::dumped::dump_version().await?;
    Ok(servers.iter().all(|server| major_of(server) <= version))
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Definitions};

    fn differ(majors: (i32, i32), what: &str, one: &str, other: &str) -> bool {
        let of = |text: &str| Definitions::from([(what.to_owned(), text.to_owned())]);
        !Comparison { majors }.differences(&of(one), &of(other)).is_empty()
    }

    #[test]
    fn who_has_taken_a_privilege_from_himself_may_keep_the_newer_one() {
        let of = |text: &str| format!("Schema: s; Owner: o\n{text}\n");
        let older = of(
            "REVOKE SELECT,INSERT,REFERENCES,DELETE,TRIGGER,TRUNCATE,UPDATE ON TABLE s.t FROM o;\nGRANT SELECT,INSERT,REFERENCES,TRIGGER,TRUNCATE ON TABLE s.t TO o;",
        );
        let newer = |more: &str| {
            of(&format!(
                "REVOKE ALL ON TABLE s.t FROM o;\nGRANT SELECT,INSERT,REFERENCES,TRIGGER,TRUNCATE,MAINTAIN{more} ON TABLE s.t TO o;"
            ))
        };
        assert!(!differ((15, 18), "ACL TABLE t", &older, &newer("")));
        assert!(differ((15, 18), "ACL TABLE t", &older, &newer(",UPDATE")));
        assert!(differ((15, 16), "ACL TABLE t", &older, &newer("")));
        let none = of(
            "REVOKE SELECT,INSERT,REFERENCES,DELETE,TRIGGER,TRUNCATE,UPDATE ON TABLE s.t FROM o;",
        );
        assert!(!differ((15, 18), "ACL TABLE t", &none, &of("REVOKE ALL ON TABLE s.t FROM o;")));
        assert!(differ((15, 18), "ACL TABLE t", &none, &of("")));
        let granted = of("GRANT SELECT ON TABLE s.t TO r;");
        let option = of("GRANT SELECT ON TABLE s.t TO r WITH GRANT OPTION;");
        assert!(differ((15, 18), "ACL TABLE t", &granted, &option));
    }

    #[test]
    fn the_roles_of_a_policy_are_a_set() {
        let of = |roles: &str, using: &str| {
            format!("Schema: s\nCREATE POLICY p ON s.t TO {roles} USING ({using});")
        };
        let policy = |one: &str, other: &str| differ((15, 15), "POLICY t p", one, other);
        assert!(!policy(&of("a, \"b TO\"", "x"), &of("\"b TO\", a", "x")));
        assert!(policy(&of("a, b", "x"), &of("a, c", "x")));
        assert!(policy(&of("a, b", "x"), &of("b, a", "y")));
        assert!(policy(&of("a, b", "x"), &of("a", "x")));
    }

    /// What an older and a newer server say of the same, and what neither may say for it.
    #[test]
    fn between_versions_no_more_may_differ_than_is_known_to() {
        let view = "CREATE VIEW s.v AS\n SELECT \"t x\".t,\n    (t.b + 1) AS more,\n    t.t\n   FROM s.t\n  WHERE (t.c = 'a  b.c')";
        let bare = "CREATE VIEW s.v AS\n SELECT t,\n    (b + 1) AS more,\n    t FROM s.t\n  WHERE (c = 'a  b.c')";
        let icu = |locale: &str| {
            format!(
                "CREATE COLLATION s.c (provider = icu, locale = '{locale}', deterministic = false);"
            )
        };
        let grant = "GRANT SELECT ON TABLE s.t TO r;";
        let older = format!(
            "REVOKE SELECT,INSERT,REFERENCES,DELETE,TRIGGER,TRUNCATE,UPDATE ON TABLE s.t FROM o;\nGRANT SELECT,UPDATE ON TABLE s.t TO o;\n{grant}"
        );
        let newer = format!(
            "REVOKE ALL ON TABLE s.t FROM o;\nGRANT SELECT,MAINTAIN,UPDATE ON TABLE s.t TO o;\n{grant}"
        );
        for (what, since, older, newer, others) in [
            (
                "VIEW v",
                16,
                view.to_owned(),
                bare.to_owned(),
                [
                    bare.replace("(b ", "(x.b "),
                    bare.replace("a  b", "a b"),
                    bare.replace("FROM s.t", "FROM r.t"),
                    bare.replace("'a  b.c')", "'a  b.c') AND x"),
                ],
            ),
            (
                "COLLATION c",
                16,
                icu("en-u-kn-true"),
                icu("en-u-kn"),
                [
                    icu("en").replace("icu", "libc"),
                    icu("en").replace("false", "true"),
                    icu("en").replace("s.c", "s.d"),
                    icu("en").replace("deterministic", "more"),
                ],
            ),
            (
                "TABLE t",
                18,
                "CREATE TABLE s.t (\n    a int NOT NULL,\n    b int\n);".to_owned(),
                "CREATE TABLE s.t (\n    a int CONSTRAINT long_a_not_null NOT NULL,\n    b int\n);"
                    .to_owned(),
                [
                    "CREATE TABLE s.t (\n    a int,\n    b int\n);".to_owned(),
                    "CREATE TABLE s.t (\n    a int CONSTRAINT c CHECK NULL,\n    b int\n);"
                        .to_owned(),
                    "CREATE TABLE s.t (\n    a int NOT NULL,\n    b int CONSTRAINT b NOT NULL\n);"
                        .to_owned(),
                    "CREATE TABLE s.t (\n    a int CONSTRAINT long_a_not_null NOT NULL\n);"
                        .to_owned(),
                ],
            ),
            (
                "ACL TABLE t",
                17,
                older.clone(),
                newer.clone(),
                [
                    newer.replace("TO r", "TO q"),
                    newer.replace(grant, ""),
                    newer.replace("MAINTAIN,UPDATE", "MAINTAIN,UPDATE,DELETE"),
                    newer.replace("GRANT SELECT ON", "GRANT ALL ON"),
                ],
            ),
        ] {
            assert!(!differ((since - 1, since), what, &older, &newer), "{what}");
            assert!(!differ((since, since - 1), what, &newer, &older), "{what}, the other way");
            assert!(differ((since, since + 1), what, &older, &newer), "{what}, of later ones");
            assert!(differ((since - 1, since), "INDEX x", &older, &newer), "{what}, as an index");
            for other in others {
                assert!(differ((since - 1, since), what, &older, &other), "{other}");
            }
        }
    }

    #[test]
    fn what_one_has_alone_differs_and_the_rules_of_a_sequence_do_not() {
        let sequence = |rule: &str| {
            Definitions::from([(
                "SEQUENCE q".to_owned(),
                format!("CREATE SEQUENCE s.q\n    {rule};"),
            )])
        };
        let (one, other) = (sequence("CACHE 1"), sequence("CACHE 5"));
        let comparison = Comparison { majors: (17, 17) };
        assert_eq!(comparison.differences(&one, &other), [""; 0]);
        assert_eq!(comparison.differences(&Definitions::new(), &other), ["SEQUENCE q"]);
        assert_eq!(comparison.differences(&one, &Definitions::new()), ["SEQUENCE q"]);
    }
}
