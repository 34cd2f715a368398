//! The definitions of a shard's schema, carried over by PostgreSQL's own pg_dump.
//!
//! First everything that rows need to be copied and found (tables, types,
//! functions, the indexes of replica identities), then, when the copy is
//! there, indexes, constraints, triggers and policies. Each part is one
//! transaction, so that it may be cut and done again.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::process::Stdio;

use shardid_cluster::{LeftoverKind, MoveKind};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::road::Road;
use super::server::{Batch, Server};
use crate::dev::client_program;
use crate::failure::Failure;
use crate::postgres::sql;

/// How long the statements of a part may wait for locks: nobody else uses the copy.
const LOCK_MS: u64 = 60_000;

/// Makes the schema on the target, without what is better made after the copy.
pub(super) async fn make(road: &mut Road<'_>) -> Result<(), Failure> {
    let schema = road.record.schema.clone();
    if road.record.shape.is_none() {
        let definitions = definitions(&mut road.source, &road.record.schema).await?;
        road.journal.note_shape(road.record.id, &definitions).await?;
        road.record.shape = Some(definitions);
    }
    road.leave_on_target(LeftoverKind::Schema, &schema).await?;
    if !exists(road).await? {
        let parts = parts(road).await?;
        let guard = sqlx::query_scalar(sql!("move/carry/guard_copy.sql"))
            .bind(road.record.shard.as_sql())
            .bind(schema);
        let guard: Vec<String> = road.source.column(guard).await?;
        let text = parts.sql_of(&parts.early).await?;
        run(road, std::iter::once(text).chain(guard).collect()).await?;
    }
    Ok(())
}

/// Makes what was left out, unless that is done.
pub(super) async fn make_indexes(road: &mut Road<'_>) -> Result<(), Failure> {
    check_definitions(road).await?;
    let here = shape(&mut road.source, &road.record.schema).await?;
    if shape(&mut road.target, &road.record.schema).await? == here {
        return Ok(());
    }
    let parts = parts(road).await?;
    if parts.late.is_empty() {
        return Ok(());
    }
    road.say("making indexes");
    let text = parts.sql_of(&parts.late).await?;
    run(road, vec![text]).await
}

/// A hash of what the tables look like, to compare with another node's.
async fn shape(server: &mut Server, schema: &str) -> Result<String, Failure> {
    let query = sqlx::query_scalar(sql!("move/carry/shape.sql")).bind(schema);
    let shape: Vec<String> = server.column(query).await?;
    Ok(shape.concat())
}

/// A hash of all definitions, to compare with what they were.
async fn definitions(server: &mut Server, schema: &str) -> Result<String, Failure> {
    let query = sqlx::query_scalar(sql!("move/carry/definitions.sql")).bind(schema);
    let definitions: Vec<String> = server.column(query).await?;
    Ok(definitions.concat())
}

/// Refuses to go on with a copy of what is not what it was.
pub(super) async fn check_definitions(road: &mut Road<'_>) -> Result<(), Failure> {
    // An old copy is as it was when it was left; a move back has no hash of its own.
    let Some(before) = road.record.shape.clone() else { return Ok(()) };
    if definitions(&mut road.source, &road.record.schema).await? == before {
        Ok(())
    } else {
        Err(changed(road))
    }
}

/// The same, and refuses where both copies' tables do not look the same.
pub(super) async fn check_unchanged(road: &mut Road<'_>) -> Result<(), Failure> {
    let schema = road.record.schema.clone();
    let (here, there) =
        tokio::join!(both(&mut road.source, &schema), shape(&mut road.target, &schema));
    let (definitions, here) = here?;
    let as_before = road.record.shape.as_ref().is_none_or(|before| *before == definitions);
    if as_before && here == there? { Ok(()) } else { Err(changed(road)) }
}

async fn both(server: &mut Server, schema: &str) -> Result<(String, String), Failure> {
    Ok((definitions(server, schema).await?, shape(server, schema).await?))
}

fn changed(road: &Road<'_>) -> Failure {
    let (id, shard) = (road.record.id, road.record.shard);
    match road.record.kind {
        MoveKind::Copy => Failure::new(format!(
            "schema {} was changed during the move: something was made, dropped, altered or granted",
            road.record.schema
        ))
        .at(format!("node {}", road.source.node))
        .hint(format!(
            "`shardid abort {id}`, then `shardid move {shard} --to {}` again",
            road.target.node
        )),
        MoveKind::Rollback => Failure::new(format!(
            "the tables of schema {} are not those of the old copy any more",
            road.record.schema
        ))
        .at(format!("node {}", road.source.node))
        .hint(format!(
            "`shardid abort {id}`; then `shardid retire` the old copy, and `shardid move {shard} --to {}`",
            road.target.node
        )),
    }
}

/// What was changed on the node that is left again, and is not carried back, each
/// with what it is: functions, views, privileges and the like.
pub(super) async fn not_carried_back(road: &mut Road<'_>) -> Result<Vec<String>, Failure> {
    let (schema, stream) = (road.record.schema.clone(), road.record.stream());
    let (new, old) = tokio::join!(
        portable(&mut road.source, &schema, &stream),
        portable(&mut road.target, &schema, &stream)
    );
    let (new, old) = (new?, old?);
    let mut differ: Vec<String> =
        new.symmetric_difference(&old).map(|(kind, name, _)| format!("{kind} {name}")).collect();
    differ.sort();
    differ.dedup();
    Ok(differ)
}

async fn portable(
    server: &mut Server,
    schema: &str,
    stream: &str,
) -> Result<BTreeSet<(String, String, String)>, Failure> {
    let query = sqlx::query_as(sql!("move/carry/portable.sql")).bind(schema).bind(stream);
    Ok(server.rows(query).await?.into_iter().collect())
}

async fn exists(road: &mut Road<'_>) -> Result<bool, Failure> {
    let query = sqlx::query_as::<_, (String, String)>(sql!("move/check/room.sql"))
        .bind(road.record.schema.as_str());
    Ok(!road.target.rows(query).await?.is_empty())
}

async fn run(road: &mut Road<'_>, statements: Vec<String>) -> Result<(), Failure> {
    match road.target.all_or_none(statements, LOCK_MS).await? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => Err(Failure::new("the new copy is locked by somebody")
            .at(format!("node {}", road.target.node))
            .hint(format!(
                "look at pg_stat_activity there, then `shardid resume {}`",
                road.record.id
            ))),
    }
}

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

/// A dump of a schema's definitions, with its list of contents in two parts.
struct Parts {
    dump: tempfile::NamedTempFile,
    /// What rows need to be copied and found.
    early: Vec<String>,
    /// What waits for the copy.
    late: Vec<String>,
}

async fn parts(road: &mut Road<'_>) -> Result<Parts, Failure> {
    let query = sqlx::query_scalar(sql!("move/carry/identity_indexes.sql"))
        .bind(road.record.schema.as_str());
    let identity: Vec<String> = road.source.column(query).await?;
    let identity: BTreeSet<String> = identity.into_iter().collect();
    let dump = tempfile::NamedTempFile::new()
        .map_err(|error| Failure::new(format!("could not make a temporary file: {error}")))?;
    let mut command = client_program("pg_dump")?;
    road.source.address.give_to(&mut command);
    command
        .args(["--format=custom", "--schema-only", "--no-publications", "--no-subscriptions"])
        .args(["--no-security-labels", "--schema"])
        .arg(quoted_pattern(&road.record.schema))
        .arg("--file")
        .arg(dump.path());
    output(command, "pg_dump", None).await?;
    let mut early = contents(&dump, "pre-data").await?;
    let (first, late): (Vec<_>, Vec<_>) = contents(&dump, "post-data")
        .await?
        .into_iter()
        .partition(|line| entry(line).is_some_and(|entry| identity.contains(&entry)));
    early.extend(first);
    Ok(Parts { dump, early, late })
}

/// The contents of a section of a dump, a line each.
async fn contents(dump: &tempfile::NamedTempFile, section: &str) -> Result<Vec<String>, Failure> {
    let mut list = client_program("pg_restore")?;
    list.args(["--list", "--section", section]).arg(dump.path());
    let text = output(list, "pg_restore", None).await?;
    Ok(text.lines().filter(|l| !l.starts_with(';') && !l.is_empty()).map(str::to_owned).collect())
}

/// What a line of contents is about: table of the catalog and number, from
/// `dumpId; tableoid oid KIND schema name owner`.
fn entry(line: &str) -> Option<String> {
    let mut words = line.split_once("; ")?.1.split(' ');
    Some(format!("{} {}", words.next()?, words.next()?))
}

impl Parts {
    /// The SQL of some lines of the list.
    async fn sql_of(&self, lines: &[String]) -> Result<String, Failure> {
        let mut command = client_program("pg_restore")?;
        command.args(["--file=-", "--use-list=/dev/stdin"]).arg(self.dump.path());
        let text = output(command, "pg_restore", Some(lines.join("\n") + "\n")).await?;
        Ok(for_servers(&text))
    }
}

/// What pg_restore prints, as a server takes it that others wait for: psql's own commands are
/// not for it, and how long anything may take is ours to say. pg_restore begins with `SET
/// lock_timeout = 0` and the like; one of them servers before 17 do not have.
fn for_servers(text: &str) -> String {
    let mut begun = false;
    let kept = |line: &&str| {
        begun |= line.starts_with("-- Name: ");
        let bound = !begun && line.starts_with("SET ") && line.contains("_timeout = ");
        !bound && !line.starts_with("\\restrict ") && !line.starts_with("\\unrestrict ")
    };
    let lines = text.lines().filter(kept).filter_map(without_column_version);
    lines.collect::<Vec<_>>().join("\n")
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
    use super::{for_servers, without_column_version};

    #[test]
    fn how_long_anything_may_take_is_not_for_pg_restore_to_say() {
        let head = "\\restrict x\nSET statement_timeout = 0;\nSET lock_timeout = 0;\nSET row_security = off;\n";
        let body = "--\n-- Name: f; Type: FUNCTION\n--\nCREATE FUNCTION s.f() AS $$\nSET lock_timeout = 5;\n$$;";
        let text = format!("{head}{body}\n\\unrestrict x");
        assert_eq!(for_servers(&text), format!("SET row_security = off;\n{body}"));
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
}
