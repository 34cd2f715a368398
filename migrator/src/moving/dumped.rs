//! What pg_dump says of a schema.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::process::Stdio;

use shardid_cluster::FOLLOWER_PREFIX;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::installation::client_program;

/// The major version of the pg_dump that would be used.
pub(super) async fn dump_version() -> Result<i32, Failure> {
    let mut command = client_program("pg_dump")?;
    command.arg("--version");
    let text = output(command, "pg_dump", None).await?;
    // pg_dump (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)
    let version = text.split_whitespace().nth(2).unwrap_or_default();
    let major = version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    major.parse().map_err(|_| Failure::new(format!("pg_dump does not say its version: {text}")))
}

/// A dump of a schema's definitions.
pub(super) struct Dump {
    file: tempfile::NamedTempFile,
}

impl Dump {
    /// Takes one from a server.
    pub(super) async fn of(server: &MoveSession, schema: &str) -> Result<Self, Failure> {
        let file = tempfile::NamedTempFile::new()
            .map_err(|error| Failure::new(format!("could not make a temporary file: {error}")))?;
        let mut command = client_program("pg_dump")?;
        server.address.give_to(&mut command);
        if !server.dump_options.is_empty() {
            let own = std::env::var("PGOPTIONS").unwrap_or_default();
            command.env("PGOPTIONS", format!("{own} {}", server.dump_options));
        }
        command
            .args(["--format=custom", "--schema-only", "--no-publications", "--no-subscriptions"])
            // As this program speaks with every server.
            .args(["--no-security-labels", "--encoding=UTF8", "--schema"])
            .arg(quoted_pattern(schema))
            .arg("--file")
            .arg(file.path());
        output(command, "pg_dump", None).await?;
        Ok(Self { file })
    }

    /// The contents of a section, a line each.
    pub(super) async fn contents(&self, section: &str) -> Result<Vec<String>, Failure> {
        let mut list = client_program("pg_restore")?;
        list.args(["--list", "--section", section]).arg(self.file.path());
        let text = output(list, "pg_restore", None).await?;
        Ok(text
            .lines()
            .filter(|l| !l.starts_with(';') && !l.is_empty() && !is_fence(l))
            .map(str::to_owned)
            .collect())
    }

    /// The SQL of some lines of the list.
    pub(super) async fn sql_of(&self, lines: &[String]) -> Result<String, Failure> {
        let mut command = client_program("pg_restore")?;
        command.args(["--file=-", "--use-list=/dev/stdin"]).arg(self.file.path());
        let text = output(command, "pg_restore", Some(lines.join("\n") + "\n")).await?;
        Ok(for_servers(&text))
    }

    /// Every definition by what it is of, without the triggers that guard a copy and the rights
    /// of the roles that it follows by.
    pub(super) async fn definitions(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut command = client_program("pg_restore")?;
        command.arg("--file=-").arg(self.file.path());
        let text = output(command, "pg_restore", None).await?;
        Ok(by_name(&for_servers(&text)))
    }
}

/// The definitions in what pg_restore prints, each under the line that names it.
fn by_name(text: &str) -> BTreeMap<String, String> {
    let mut definitions: BTreeMap<String, String> = BTreeMap::new();
    // Before the first are settings of the session, and which server and pg_dump it comes from.
    let text =
        text.rsplit_once("\n-- PostgreSQL database dump complete").map_or(text, |(all, _)| all);
    // How tables are made from there on; it stands behind what comes before it.
    let mut made_as: BTreeMap<&str, &str> = BTreeMap::new();
    for definition in text.split("\n-- Name: ").skip(1) {
        let (name, body) = definition.split_once('\n').unwrap_or((definition, ""));
        let mut body: Vec<&str> = body.split('\n').filter(|line| !is_for_follower(line)).collect();
        let before: Vec<(&str, &str)> = made_as.iter().map(|(what, how)| (*what, *how)).collect();
        while let Some(last) = body.last() {
            match last.strip_prefix("SET default_t").and_then(|set| set.split_once(" = ")) {
                Some((what, how)) => made_as.insert(what, how),
                None if last.trim_matches(['-', ' ']).is_empty() => None,
                None => break,
            };
            body.pop();
        }
        let text = body.join("\n");
        let text = text.trim_end_matches(['-', '\n', ' ']);
        let is_guard = FENCES.iter().any(|f| name.contains(&format!(" {f}; Type: TRIGGER;")));
        let is_empty = text.trim_start_matches(['-', '\n', ' ']).is_empty();
        if is_guard || is_empty {
            continue;
        }
        // `name; Type: TABLE; Schema: s; Owner: o`, where the name may have anything in it.
        let (what, rest) = name.rsplit_once("; Type: ").unwrap_or((name, ""));
        let (kind, rest) = rest.split_once("; ").unwrap_or((rest, ""));
        let definition = definitions.entry(format!("{kind} {what}")).or_default();
        definition.push_str(rest);
        if ["TABLE", "MATERIALIZED VIEW", "INDEX", "CONSTRAINT"].contains(&kind) {
            definition.extend(before.iter().map(|(what, how)| format!("{what}{how}")));
        }
        definition.push_str(text);
    }
    definitions
}

/// The triggers of a fence.
const FENCES: [&str; 2] = ["shardid_fence", "shardid_fence_rows"];

/// Whether a line of contents is a trigger of ours.
fn is_fence(line: &str) -> bool {
    description(line).is_some_and(|what| {
        what.starts_with("TRIGGER ") && FENCES.iter().any(|f| what.contains(&format!(" {f} ")))
    })
}

/// What a line of contents is about: table of the catalog and number, from
/// `dumpId; tableoid oid KIND schema name owner`.
pub(super) fn entry(line: &str) -> Option<String> {
    let mut words = line.split_once("; ")?.1.split(' ');
    Some(format!("{} {}", words.next()?, words.next()?))
}

/// The rest of such a line, which says what it is, and is the same for a copy.
pub(super) fn description(line: &str) -> Option<&str> {
    line.split_once("; ")?.1.splitn(3, ' ').nth(2)
}

/// Whether a line of a dump is a right of a role that a move has made.
fn is_for_follower(line: &str) -> bool {
    let role = line.strip_prefix("GRANT ").and_then(|grant| grant.rsplit_once(" TO "));
    role.is_some_and(|(_, role)| {
        let role = role.trim_start_matches('"');
        ["shardid_move_", "shardid_back_", FOLLOWER_PREFIX]
            .iter()
            .any(|ours| role.starts_with(ours))
    })
}

/// What pg_restore prints, as a server takes it that others wait for: psql's own commands are
/// not for it, and how long anything may take is ours to say. pg_restore begins with `SET
/// lock_timeout = 0` and the like; one of them servers before 17 do not have. All of that stands
/// before the first definition and behind the last one, and what is between is left as it is.
fn for_servers(text: &str) -> String {
    const FIRST: &str = "\n-- Name: ";
    const LAST: &str = "\n-- PostgreSQL database dump complete";
    let (head, rest) = text.split_at(text.find(FIRST).unwrap_or(text.len()));
    let (body, tail) = rest.split_at(rest.rfind(LAST).unwrap_or(rest.len()));
    let kept = |line: &&str| {
        let bound = line.starts_with("SET ") && line.contains("_timeout = ");
        !bound && !line.starts_with("\\restrict ") && !line.starts_with("\\unrestrict ")
    };
    let of_psql = |part: &str| part.split('\n').filter(kept).collect::<Vec<_>>().join("\n");
    let body = body.split('\n').filter_map(without_column_version).collect::<Vec<_>>().join("\n");
    of_psql(head) + &body + &of_psql(tail)
}

/// A line of a dump without the version that PostgreSQL 15.20 notes among the options
/// of each column; none where nothing else is set. Its own pg_dump leaves that out,
/// later ones do not, and no other server takes it.
fn without_column_version(line: &str) -> Option<Cow<'_, str>> {
    let parts = || {
        let (what, options) = line.strip_suffix(");")?.split_once(" SET (")?;
        what.starts_with("ALTER TABLE ONLY ").then_some((what, options))
    };
    let Some((what, options)) = parts().filter(|(_, options)| options.contains("pg_attver="))
    else {
        return Some(line.into());
    };
    let others: Vec<&str> =
        options.split(", ").filter(|option| !option.starts_with("pg_attver=")).collect();
    (!others.is_empty()).then(|| format!("{what} SET ({});", others.join(", ")).into())
}

/// The definition of a sequence without what `move/sequence/rules.sql` carries from one copy to
/// the other: its owner, the kind of an identity, and whether it is logged are left, and whatever a
/// later server has.
pub(super) fn without_sequence_rules(text: &str) -> String {
    const RULES: [&str; 9] = [
        "AS ",
        "START WITH ",
        "INCREMENT BY ",
        "MINVALUE ",
        "NO MINVALUE",
        "MAXVALUE ",
        "NO MAXVALUE",
        "CACHE ",
        "CYCLE",
    ];
    let is_rule = |line: &str| RULES.iter().any(|rule| line.trim_start().starts_with(rule));
    text.split('\n').filter(|line| !is_rule(line)).collect::<Vec<_>>().join("\n")
}

/// A name that pg_dump takes to the letter.
fn quoted_pattern(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

async fn output(
    mut command: Command,
    program: &str,
    input: Option<String>,
) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("could not run {program}: {error}"));
    // Where we give up, nobody is left to wait for it.
    command.kill_on_drop(true);
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(input.as_bytes()).await.map_err(failed)?;
    }
    let output = child.wait_with_output().await.map_err(failed)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format!("{program} failed")).detail(words.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{
        by_name, description, entry, for_servers, without_column_version, without_sequence_rules,
    };

    #[test]
    fn of_a_sequence_the_rules_are_left_out_and_nothing_else() {
        let serial = |rules: &str, owner: &str| {
            format!(
                "Owner: {owner}\n--\n\nCREATE SEQUENCE s.q\n{rules};\n\nALTER SEQUENCE s.q OWNER TO {owner};"
            )
        };
        let open = "    AS integer\n    START WITH 1\n    INCREMENT BY 1\n    NO MINVALUE\n    NO MAXVALUE\n    CACHE 1";
        let closed = "    START WITH 7\n    INCREMENT BY 2\n    MINVALUE 6\n    MAXVALUE 7\n    CACHE 5\n    CYCLE";
        let of = |rules, owner| without_sequence_rules(&serial(rules, owner));
        assert_eq!(of(open, "a"), of(closed, "a"));
        assert_ne!(of(open, "a"), of(open, "b"));
        let identity = |kind: &str| {
            without_sequence_rules(&format!(
                "ALTER TABLE s.t ALTER COLUMN id ADD GENERATED {kind} AS IDENTITY (\n    SEQUENCE NAME s.q\n    CACHE 1\n);"
            ))
        };
        assert_ne!(identity("ALWAYS"), identity("BY DEFAULT"));
    }

    #[test]
    fn how_long_anything_may_take_is_not_for_pg_restore_to_say() {
        let head = "\\restrict x\nSET statement_timeout = 0;\nSET lock_timeout = 0;\nSET row_security = off;\n";
        let body = "--\n-- Name: f; Type: FUNCTION\n--\nCREATE FUNCTION s.f() AS $$\r\nSET lock_timeout = 5;\n\\restrict y\r\n$$;";
        let tail = "\n\n--\n-- PostgreSQL database dump complete\n--\n\n";
        let text = format!("{head}{body}{tail}\\unrestrict x\n");
        assert_eq!(for_servers(&text), format!("SET row_security = off;\n{body}{tail}"));
    }

    #[test]
    fn only_the_version_of_a_column_is_left_out() {
        let of = |options| format!("ALTER TABLE ONLY s.t ALTER COLUMN id SET ({options});");
        assert_eq!(without_column_version(&of("pg_attver=27451840")), None);
        let other = of("n_distinct=5");
        for options in ["n_distinct=5", "n_distinct=5, pg_attver=1", "pg_attver=1, n_distinct=5"] {
            assert_eq!(without_column_version(&of(options)).as_deref(), Some(other.as_str()));
        }
        let text = "COMMENT ON TABLE s.t IS 'SET (pg_attver=1);";
        assert_eq!(without_column_version(text).as_deref(), Some(text));
    }

    #[test]
    fn a_line_of_contents_has_a_number_that_is_a_servers_own_and_a_name() {
        let line = "3201; 2606 16410 FK CONSTRAINT s item item_fkey the owner";
        assert_eq!(entry(line).as_deref(), Some("2606 16410"));
        assert_eq!(description(line), Some("FK CONSTRAINT s item item_fkey the owner"));
    }

    #[test]
    fn definitions_are_told_apart_by_their_names_and_guards_are_none() {
        let text = "SET x = 1;\n\n--\n-- Name: t; Type: TABLE; Schema: s; Owner: o\n--\n\nCREATE TABLE s.t ();\n\n\n--\n-- Name: t shardid_fence; Type: TRIGGER; Schema: s; Owner: o\n--\n\nCREATE TRIGGER shardid_fence;\n\n\n--\n-- PostgreSQL database dump complete\n--\n";
        let definitions = by_name(text);
        assert_eq!(definitions.len(), 1);
        let table = &definitions["TABLE t"];
        assert!(table.ends_with("CREATE TABLE s.t ();"), "{table:?}");
        let grants = "\n-- Name: TABLE t; Type: ACL; Schema: s; Owner: o\n--\n\nGRANT SELECT ON TABLE s.t TO shardid_move_5;\n";
        assert!(by_name(grants).is_empty());
        assert_eq!(by_name(&grants.replace("shardid_move_5", "reader")).len(), 1);
        let unguarded = text.replace(" shardid_fence;", " other;");
        let other = &by_name(&unguarded)["TRIGGER t other"];
        assert!(other.ends_with("CREATE TRIGGER other;"), "{other:?}");
    }
}
