//! The definitions of a shard's schema, carried over by PostgreSQL's own pg_dump.
//!
//! First everything that rows need to be copied and found (tables, types,
//! functions, the indexes of replica identities), then, when the copy is
//! there, indexes, constraints, triggers and policies. Each part is one
//! transaction, so that it may be cut and done again.

use std::collections::BTreeSet;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::road::Road;
use super::server::Batch;
use crate::dev::client_program;
use crate::failure::Failure;
use crate::postgres::sql;

/// How long the statements of a part may wait for locks: nobody else uses the copy.
const LOCK_MS: u64 = 60_000;

/// Makes the schema on the target, without what is better made after the copy.
pub(super) async fn make(road: &mut Road<'_>) -> Result<(), Failure> {
    let schema = road.record.schema.clone();
    let shape = shape(road).await?;
    road.journal.note_shape(road.record.id, &shape).await?;
    road.record.shape = Some(shape);
    road.leave_on_target("schema", &schema).await?;
    if !exists(road).await? {
        let parts = parts(road).await?;
        let first: Vec<&str> =
            parts.lines.iter().filter(|l| !parts.is_late(l)).map(String::as_str).collect();
        let text = parts.sql_of(&first).await?;
        run(road, text).await?;
    }
    Ok(())
}

/// Makes what was left out, unless that is done.
pub(super) async fn make_indexes(road: &mut Road<'_>) -> Result<(), Failure> {
    if shape_of_target(road).await? == road.record.shape {
        return Ok(());
    }
    let parts = parts(road).await?;
    let late: Vec<&str> =
        parts.lines.iter().filter(|l| parts.is_late(l)).map(String::as_str).collect();
    if late.is_empty() {
        return Ok(());
    }
    road.say("making indexes");
    let text = parts.sql_of(&late).await?;
    run(road, text).await
}

/// A hash of what the tables look like on the source.
pub(super) async fn shape(road: &mut Road<'_>) -> Result<String, Failure> {
    let query = sqlx::query_scalar(sql!("move/carry/shape.sql")).bind(road.record.schema.as_str());
    let shape: Vec<String> = road.source.column(query).await?;
    Ok(shape.concat())
}

async fn shape_of_target(road: &mut Road<'_>) -> Result<Option<String>, Failure> {
    let query = sqlx::query_scalar(sql!("move/carry/shape.sql")).bind(road.record.schema.as_str());
    let shape: Vec<String> = road.target.column(query).await?;
    Ok(shape.into_iter().next())
}

/// Refuses to go on where both copies do not look the same any more.
pub(super) async fn check_shape_of_copy(road: &mut Road<'_>) -> Result<(), Failure> {
    let here = shape(road).await?;
    if shape_of_target(road).await?.as_ref() == Some(&here) { Ok(()) } else { Err(changed(road)) }
}

/// Refuses to go on with a copy of tables that are not what they were.
pub(super) async fn check_shape(road: &mut Road<'_>) -> Result<(), Failure> {
    if Some(shape(road).await?) == road.record.shape {
        return Ok(());
    }
    Err(changed(road))
}

fn changed(road: &Road<'_>) -> Failure {
    Failure::new(format!(
        "schema {} was changed during the move: a table was made, dropped or altered",
        road.record.schema
    ))
    .at(format!("node {}", road.source.node))
    .hint(format!("`shardid abort {}`, then move the shard again", road.record.id))
}

async fn exists(road: &mut Road<'_>) -> Result<bool, Failure> {
    let query = sqlx::query_as::<_, (String, String)>(sql!("move/check/room.sql"))
        .bind(road.record.schema.as_str());
    Ok(!road.target.rows(query).await?.is_empty())
}

async fn run(road: &mut Road<'_>, text: String) -> Result<(), Failure> {
    match road.target.all_or_none(vec![text], LOCK_MS).await? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => Err(Failure::new("the new copy is locked by somebody")
            .at(format!("node {}", road.target.node))),
    }
}

/// A dump of a schema's definitions, with its list of contents.
struct Parts {
    dump: tempfile::NamedTempFile,
    lines: Vec<String>,
    early_indexes: BTreeSet<String>,
}

async fn parts(road: &mut Road<'_>) -> Result<Parts, Failure> {
    let query = sqlx::query_scalar(sql!("move/carry/identity_indexes.sql"))
        .bind(road.record.schema.as_str());
    let early: Vec<String> = road.source.column(query).await?;
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
    let mut list = client_program("pg_restore")?;
    list.arg("--list").arg(dump.path());
    let text = output(list, "pg_restore", None).await?;
    let lines = text.lines().filter(|l| !l.starts_with(';') && !l.is_empty());
    Ok(Parts {
        dump,
        lines: lines.map(str::to_owned).collect(),
        early_indexes: early.into_iter().collect(),
    })
}

/// What of a dump's contents waits for the copy: `dumpId; tableoid oid KIND schema name owner`.
const LATE: [&str; 8] = [
    " INDEX ",
    " CONSTRAINT ",
    " FK CONSTRAINT ",
    " INDEX ATTACH ",
    " TRIGGER ",
    " RULE ",
    " POLICY ",
    " ROW SECURITY ",
];

impl Parts {
    fn is_late(&self, line: &str) -> bool {
        let Some((_, entry)) = line.split_once("; ") else { return false };
        let kind = LATE.iter().find(|kind| {
            // Behind the two numbers of the catalog entry.
            entry.splitn(3, ' ').nth(2).is_some_and(|rest| format!(" {rest}").starts_with(**kind))
        });
        match kind {
            None => false,
            Some(&(" INDEX " | " CONSTRAINT " | " INDEX ATTACH ")) => {
                !line.split(' ').any(|word| self.early_indexes.contains(word))
            }
            Some(_) => true,
        }
    }

    /// The SQL of some lines of the list.
    async fn sql_of(&self, lines: &[&str]) -> Result<String, Failure> {
        let mut command = client_program("pg_restore")?;
        command.args(["--file=-", "--use-list=/dev/stdin"]).arg(self.dump.path());
        let text = output(command, "pg_restore", Some(lines.join("\n") + "\n")).await?;
        // psql's own commands (\restrict) are not for the server.
        Ok(text.lines().filter(|l| !l.starts_with('\\')).collect::<Vec<_>>().join("\n"))
    }
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
