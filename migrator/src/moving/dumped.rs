//! What pg_dump says of a schema.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::Duration;

use shardid_cluster::is_own_role;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::move_session::MoveSession;
use super::printed::{Definition, Printed, take_apart};
use crate::failure::Failure;
use crate::postgres::installation::client_program;
use crate::postgres::sql;

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
    /// Takes one from a server, and waits for who has locked a table for so long.
    pub(super) async fn of(
        server: &MoveSession,
        schema: &str,
        most: Duration,
    ) -> Result<Self, Failure> {
        let file = tempfile::NamedTempFile::new()
            .map_err(|error| Failure::new(format!("could not make a temporary file: {error}")))?;
        let mut command = client_program("pg_dump")?;
        server.address.give_to(&mut command);
        // A moment is printed as it is there, and nodes may be in several zones.
        command.env("PGTZ", "UTC");
        if !server.dump_options.is_empty() {
            let own = std::env::var("PGOPTIONS").unwrap_or_default();
            command.env("PGOPTIONS", format!("{own} {}", server.dump_options));
        }
        command
            .args(["--format=custom", "--schema-only", "--no-publications", "--no-subscriptions"])
            // As this program speaks with every server.
            .args(["--no-security-labels", "--encoding=UTF8", "--schema"])
            .arg(quoted_pattern(schema))
            .arg(format!("--role={}", server.role))
            .arg(format!("--lock-wait-timeout={}", most.as_millis().max(1)))
            .arg("--file")
            .arg(file.path());
        match output(command, "pg_dump", None).await {
            Ok(_) => Ok(Self { file }),
            // It prints the statement that was not over in time.
            Err(failure) if failure.has_detail("LOCK TABLE ") => {
                Err(server.also_waited(failure).await)
            }
            Err(failure) => Err(failure),
        }
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

    /// The statements of some lines of the list: first how a session has to be set for them, then a
    /// text for each, which is on behalf of who owns it; of `of_others`, which a third one may have written, on everybody's.
    pub(super) async fn sql_of(
        &self,
        lines: &[String],
        of_others: &BTreeSet<String>,
    ) -> Result<Vec<String>, Failure> {
        let printed = self.printed(lines, &[]).await?;
        // The title of one that has a tablespace names that behind its owner.
        let titles = self.printed(lines, &["--no-tablespaces"]).await?.definitions;
        if titles.len() != printed.definitions.len() {
            return Err(Failure::new("pg_restore has not printed the same twice"));
        }
        let mut texts = vec![printed.settings];
        let mut definitions: Vec<_> = printed.definitions.into_iter().zip(&titles).collect();
        // What is granted on the schema comes right after it: what an owner's code calls while definitions are made needs it.
        definitions.sort_by_key(|(definition, _)| match definition.name().0 {
            name if name.starts_with("SCHEMA ") => 0,
            name if name.starts_with("ACL SCHEMA ") => 1,
            _ => 2,
        });
        for (definition, titled) in definitions {
            let owner = titled.owner().map_err(|title| {
                Failure::new(format!("a name has \"; Owner: \" or \"; \" in it: {title}"))
                    .hint("rename it")
            })?;
            let what = definition.name().0;
            // So whoever has TRIGGER on a table may have written one.
            let owner =
                owner.filter(|_| !of_others.contains(&what) && !what.starts_with("TRIGGER "));
            let owner = owner.map_or("'public'".to_owned(), |owner| {
                format!("\"{}\"", owner.replace('"', "\"\""))
            });
            let text = definition.settings.clone() + &definition.text;
            if !text.is_empty() {
                texts.push(format!("SET LOCAL shardid.on_behalf_of = {owner}"));
                texts.push(text);
            }
        }
        texts.push(sql!("session/on_own_behalf.sql").to_owned());
        Ok(texts)
    }

    /// Every definition by what it is of, without the triggers that guard a copy and the rights
    /// of the roles that it follows by.
    pub(super) async fn definitions(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut lines = self.contents("pre-data").await?;
        lines.extend(self.contents("post-data").await?);
        self.definitions_of(&lines).await
    }

    /// The same for some lines of the list.
    pub(super) async fn definitions_of(
        &self,
        lines: &[String],
    ) -> Result<BTreeMap<String, String>, Failure> {
        Ok(by_name(&self.printed(lines, &[]).await?.definitions))
    }

    async fn printed(&self, lines: &[String], how: &[&str]) -> Result<Printed, Failure> {
        let mut command = client_program("pg_restore")?;
        command.args(["--file=-", "--use-list=/dev/stdin"]).args(how).arg(self.file.path());
        let text = output(command, "pg_restore", Some(lines.join("\n") + "\n")).await?;
        Ok(take_apart(&text))
    }
}

/// What is defined, each by its kind and name.
fn by_name(definitions: &[Definition]) -> BTreeMap<String, String> {
    let mut by_name: BTreeMap<String, String> = BTreeMap::new();
    for definition in definitions {
        let (name, rest) = definition.name();
        let lines = definition.lines().into_iter();
        let text: String = lines
            .filter(|(line, is_outside)| !(*is_outside && is_for_follower(line.trim_end())))
            .map(|(line, _)| line)
            .collect();
        if text.is_empty() {
            continue;
        }
        let all = by_name.entry(name).or_default();
        all.push_str(rest);
        if ["TABLE ", "MATERIALIZED VIEW ", "INDEX ", "CONSTRAINT "]
            .iter()
            .any(|kind| definition.name().0.starts_with(kind))
        {
            all.push_str(&definition.made_by);
        }
        all.push('\n');
        all.push_str(text.trim_end());
    }
    by_name
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
    role.is_some_and(|(_, role)| is_own_role(role.trim_end_matches(';').trim_matches('"')))
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
    use super::{by_name, description, entry, is_fence, take_apart, without_sequence_rules};

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
    fn a_line_of_contents_has_a_number_that_is_a_servers_own_and_a_name() {
        let line = "3201; 2606 16410 FK CONSTRAINT s item item_fkey the owner";
        assert_eq!(entry(line).as_deref(), Some("2606 16410"));
        assert_eq!(description(line), Some("FK CONSTRAINT s item item_fkey the owner"));
    }

    #[test]
    fn definitions_are_told_apart_by_their_names_and_guards_are_none() {
        let of = |title: &str, sql: &str| {
            let text = format!(
                "SET x = 1;\n\n--\n-- Name: {title}; Schema: s; Owner: o\n--\n\n{sql}\n\n\n--\n-- PostgreSQL database dump complete\n--\n"
            );
            by_name(&take_apart(&text).definitions)
        };
        let table = of("t; Type: TABLE", "CREATE TABLE s.t ();");
        assert_eq!(table["TABLE t"], "Schema: s; Owner: o\nCREATE TABLE s.t ();");
        let grant =
            |role: &str| of("TABLE t; Type: ACL", &format!("GRANT SELECT ON TABLE s.t TO {role};"));
        assert!(grant("shardid_move_5").is_empty() && grant("\"shardid_back_5\"").is_empty());
        assert_eq!((grant("reader").len(), grant("shardid_move_team").len()), (1, 1));
        let body = "CREATE FUNCTION s.f() AS $$\nGRANT SELECT ON TABLE s.t TO shardid_move_5;\n$$;";
        assert!(of("f(); Type: FUNCTION", body)["FUNCTION f()"].ends_with(body));
        let guard = "3201; 2620 16410 TRIGGER s t shardid_fence o";
        assert!(is_fence(guard) && !is_fence(&guard.replace("_fence", "_other")));
    }
}
