//! What pg_restore prints: settings of a session, then one definition after the other. Where each
//! begins is told by where strings, quoted names and comments end, so that no body is taken for
//! anything else, and none is changed.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A text of pg_restore, taken apart.
pub(super) struct Printed {
    /// How a session has to be set for the definitions.
    pub(super) settings: String,
    pub(super) definitions: Vec<Definition>,
}

/// A definition, as pg_restore has printed it.
pub(super) struct Definition {
    /// What it is: `name; Type: TABLE; Schema: s; Owner: o`, where the name may have anything in it.
    pub(super) title: String,
    /// Settings that are made for it and all that follow.
    pub(super) settings: String,
    /// All such settings that it is made by.
    pub(super) made_by: String,
    /// Its statements, without the remarks around them.
    pub(super) text: String,
}

const TITLE: &str = "-- Name: ";
const OWNER: &str = "; Owner: ";
const END: &str = "-- PostgreSQL database dump complete";

/// Takes a text of pg_restore apart.
///
/// What is psql's own is left out, and how long anything may take, which pg_restore begins with
/// (`SET lock_timeout = 0` and the like; one of them servers before 17 do not have): that is ours
/// to say. So is what is said of the version of a column, see [`without_column_version`].
pub(super) fn take_apart(text: &str) -> Printed {
    let mut printed = Printed { settings: String::new(), definitions: Vec::new() };
    let mut made_by: BTreeMap<&str, &str> = BTreeMap::new();
    let mut settings = String::new();
    for (line, is_outside) in lines(text) {
        let bare = line.trim_end_matches('\n');
        if is_outside && bare == END {
            break;
        }
        if let (true, Some(title)) = (is_outside, bare.strip_prefix(TITLE)) {
            let made_by = made_by.iter().map(|(what, how)| format!("{what} = {how}")).collect();
            printed.definitions.push(Definition {
                title: title.to_owned(),
                settings: std::mem::take(&mut settings),
                made_by,
                text: String::new(),
            });
        } else if is_outside && bare.starts_with("--") {
            // A remark.
        } else if let Some(definition) = printed.definitions.last_mut() {
            // How tables are made from there on stands behind what comes before it.
            match bare.strip_prefix("SET default_t").and_then(|set| set.split_once(" = ")) {
                Some((what, how)) if is_outside => {
                    made_by.insert(what, how);
                    settings.push_str(line);
                }
                _ if is_outside => {
                    definition.text.extend(without_column_version(line));
                }
                _ => definition.text.push_str(line),
            }
        } else {
            let bound = bare.starts_with("SET ") && bare.contains("_timeout = ");
            if !bound && !bare.starts_with('\\') {
                printed.settings.push_str(line);
            }
        }
    }
    for definition in &mut printed.definitions {
        definition.text = definition.text.trim_matches('\n').to_owned();
    }
    printed
}

/// A statement without the version that PostgreSQL 15.20 notes among the options of each column; none
/// where it says nothing else. Its own pg_dump leaves that out, later ones do not, and no other
/// server takes it.
fn without_column_version(line: &str) -> Option<Cow<'_, str>> {
    let statement = || {
        let (what, options) = line.strip_suffix(");\n")?.split_once(" SET (")?;
        let options: Vec<&str> = options.split(", ").collect();
        let is_ours = |option: &&str| option.starts_with("pg_attver=");
        (what.starts_with("ALTER TABLE ONLY ") && options.iter().any(is_ours))
            .then_some((what, options.into_iter().filter(|o| !is_ours(o)).collect::<Vec<_>>()))
    };
    match statement() {
        None => Some(line.into()),
        Some((_, others)) if others.is_empty() => None,
        Some((what, others)) => Some(format!("{what} SET ({});\n", others.join(", ")).into()),
    }
}

impl Definition {
    /// Its kind and name, and what else its title says.
    pub(super) fn name(&self) -> (String, &str) {
        let (name, rest) = self.title.rsplit_once("; Type: ").unwrap_or((&self.title, ""));
        let (kind, rest) = rest.split_once("; ").unwrap_or((rest, ""));
        (format!("{kind} {name}"), rest)
    }

    /// Who owns it, by a title without a tablespace; none where nobody does, an error where a name has what comes
    /// before that, or begins another part of a title.
    pub(super) fn owner(&self) -> Result<Option<&str>, &str> {
        let Some((rest, owner)) = self.title.rsplit_once(OWNER) else { return Ok(None) };
        if rest.contains(OWNER) || owner.contains("; ") {
            return Err(&self.title);
        }
        Ok(Some(owner).filter(|owner| *owner != "-"))
    }

    /// Its lines, each with whether it begins outside of strings, quoted names and comments.
    pub(super) fn lines(&self) -> Vec<(&str, bool)> {
        lines(&self.text)
    }
}

/// The lines of a text of SQL with their ends, each with whether it begins outside of strings,
/// quoted names and comments.
fn lines(text: &str) -> Vec<(&str, bool)> {
    // As the source is set, so is what it writes.
    let escapes = text.contains("\nSET standard_conforming_strings = off;");
    let mut within = Within::Nothing;
    text.split_inclusive('\n')
        .map(|line| {
            let is_outside = matches!(within, Within::Nothing);
            within = std::mem::replace(&mut within, Within::Nothing).after(line, escapes);
            (line, is_outside)
        })
        .collect()
}

/// In what a place of a text is.
enum Within {
    Nothing,
    /// Whether a backslash there takes the next character.
    String(bool),
    Name,
    /// With what it ends.
    Dollars(Vec<u8>),
    /// How deep.
    Comment(usize),
}

impl Within {
    /// Where the next line begins.
    fn after(mut self, line: &str, escapes: bool) -> Self {
        let mut rest = line.as_bytes();
        let mut before = Vec::new();
        while !rest.is_empty() {
            if matches!(self, Self::Nothing) && rest.starts_with(b"--") {
                return self;
            }
            let length = self.pass(rest, &before, escapes).min(rest.len());
            before.extend_from_slice(&rest[..length]);
            rest = &rest[length..];
        }
        self
    }

    /// Passes what begins here, and returns its length in bytes.
    fn pass(&mut self, rest: &[u8], before: &[u8], escapes: bool) -> usize {
        let begins = |with: &[u8]| rest.starts_with(with);
        let (next, length) = match self {
            Self::Nothing if begins(b"'") => (Self::String(escapes || is_escaped(before)), 1),
            Self::Nothing if begins(b"\"") => (Self::Name, 1),
            Self::Nothing if begins(b"/*") => (Self::Comment(1), 2),
            Self::Nothing => match dollars(rest, before) {
                Some(tag) => (Self::Dollars(tag.to_owned()), tag.len()),
                None => return 1,
            },
            Self::String(true) if begins(b"\\") => return 2,
            Self::String(_) if begins(b"''") => return 2,
            Self::String(_) if begins(b"'") => (Self::Nothing, 1),
            Self::Name if begins(b"\"") => (Self::Nothing, 1),
            Self::Dollars(tag) if begins(tag) => (Self::Nothing, tag.len()),
            Self::Comment(depth) if begins(b"/*") => (Self::Comment(*depth + 1), 2),
            Self::Comment(1) if begins(b"*/") => (Self::Nothing, 2),
            Self::Comment(depth) if begins(b"*/") => (Self::Comment(*depth - 1), 2),
            _ => return 1,
        };
        *self = next;
        length
    }
}

/// Whether a string that begins here is one with escapes: `E'…'`.
fn is_escaped(before: &[u8]) -> bool {
    let mut last = before.iter().rev();
    last.next().is_some_and(|byte| byte.eq_ignore_ascii_case(&b'E'))
        && !last.next().is_some_and(|byte| is_of_name(*byte))
}

/// The tag of a string in dollars that begins here: `$tag$`, which is none within a name.
fn dollars<'a>(rest: &'a [u8], before: &[u8]) -> Option<&'a [u8]> {
    let tag = rest.strip_prefix(b"$")?;
    let length = tag.iter().position(|byte| *byte == b'$' || !is_of_name(*byte))?;
    let is_tag = tag[length] == b'$' && !tag[0].is_ascii_digit();
    let in_name = before.last().is_some_and(|byte| is_of_name(*byte));
    (is_tag && !in_name).then(|| &rest[..length + 2])
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::{lines, take_apart};

    /// Settings, two definitions, and bodies that look like all that is left out or taken for a title.
    #[test]
    fn a_body_is_left_as_it_is_whatever_it_looks_like() {
        let body = "CREATE FUNCTION s.f() RETURNS void\n    LANGUAGE sql\n    AS $_$\r\nSET lock_timeout = 5;\n\\restrict y\r\n\
                    ALTER TABLE ONLY s.t ALTER COLUMN id SET (pg_attver=27451840);\n-- a remark\n\n--\n-- Name: g; Type: FUNCTION\n--\n\
                    SET default_tablespace = '';\n-- PostgreSQL database dump complete\n$_$;\n\n\nALTER FUNCTION s.f() OWNER TO o;";
        let text = format!(
            "--\n-- PostgreSQL database dump\n--\n\n\\restrict x\nSET statement_timeout = 0;\nSET row_security = off;\n\n\
             --\n-- Name: f(); Type: FUNCTION; Schema: s; Owner: o\n--\n\n{body}\n\nSET default_tablespace = '';\n\n\
             --\n-- Name: t; Type: TABLE; Schema: s; Owner: o\n--\n\nCREATE TABLE s.t (\n    id int\n);\n\
             ALTER TABLE ONLY s.t ALTER COLUMN id SET (pg_attver=27451840);\n\
             ALTER TABLE ONLY s.t ALTER COLUMN id SET (n_distinct=5, pg_attver=27451840);\n\n\n\
             --\n-- PostgreSQL database dump complete\n--\n\n\\unrestrict x\n"
        );
        let printed = take_apart(&text);
        assert_eq!(printed.settings.trim(), "SET row_security = off;");
        let [function, table] = printed.definitions.as_slice() else { panic!("there are two") };
        assert_eq!(function.text, body);
        assert_eq!(function.owner(), Ok(Some("o")));
        assert_eq!(function.name(), ("FUNCTION f()".to_owned(), "Schema: s; Owner: o"));
        assert_eq!(table.settings, "SET default_tablespace = '';\n");
        assert_eq!(table.made_by, "ablespace = '';");
        assert_eq!(
            table.text,
            "CREATE TABLE s.t (\n    id int\n);\nALTER TABLE ONLY s.t ALTER COLUMN id SET (n_distinct=5);"
        );
    }

    #[test]
    fn an_owner_is_told_or_refused_whatever_names_are_like() {
        for (title, owner) in [
            ("t; Type: TABLE; Schema: s; Owner: o", Ok(Some("o"))),
            ("t; Type: TABLE; Schema: s; Owner: o; Tablespace: fast", Err(())),
            ("t; Type: COMMENT; Schema: s; Owner: -", Ok(None)),
            ("t; Type: TABLE; Schema: s; Owner: o p\"q", Ok(Some("o p\"q"))),
            ("t; Owner: x; Type: TABLE; Schema: s; Owner: o", Err(())),
            ("t; Type: TABLE; Schema: s; Owner: o; Owner: p", Err(())),
            ("t; Type: TABLE; Schema: s; Owner: o; p", Err(())),
        ] {
            let text = format!("-- Name: {title}\n--\n\nCREATE TABLE s.t ();\n");
            let printed = take_apart(&text);
            assert_eq!(printed.definitions[0].owner().map_err(|_| ()), owner, "{title}");
        }
    }

    #[test]
    fn a_line_is_within_a_string_until_that_ends() {
        for (line, ends_within) in [
            ("SELECT 'a''b', \"c\"\"d\", $$e$$, $f$ $$ $f$, /* /* */ */ 1 -- 'x\n", false),
            ("SELECT 'a''\n", true),
            ("SELECT 'a\\'\n", false),
            ("SELECT E'a\\'\n", true),
            ("SELECT E'a''\\'\n", true),
            ("SELECT name'a\\'\n", false),
            ("SELECT \"it's\n", true),
            ("SELECT a$b$, 'x'\n", false),
            ("SELECT $1, '$'\n", false),
            ("SELECT $é$ $e$\n", true),
            ("SELECT /* /* */ '\n", true),
            ("SELECT 1; -- $$ ' \" /*\n", false),
        ] {
            let text = format!("{line}next\n");
            assert_eq!(lines(&text)[1], ("next\n", !ends_within), "{line}");
        }
        let text = "\nSET standard_conforming_strings = off;\nSELECT 'a\\'\nnext";
        assert_eq!(lines(text)[3], ("next", false));
    }
}
