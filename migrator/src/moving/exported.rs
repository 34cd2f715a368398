//! A replication slot that lets other sessions see what there is at the moment at which it begins.
//!
//! PostgreSQL gives that out by its replication protocol alone, which psql speaks.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Child;

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::installation::client_program;
use crate::postgres::sql;

/// How long psql may take to end when its input has.
const END_MAX: Duration = Duration::from_secs(5);

/// The moment at which a slot begins, for as long as this is kept.
pub(super) struct Exported {
    snapshot: String,
    /// It holds the snapshot until it ends.
    psql: Child,
}

/// How making one has ended.
pub(super) enum Made {
    Done(Exported),
    /// Transactions that it has to wait for did not end in time.
    TimedOut,
}

impl Exported {
    /// The snapshot's name, which the server has put together.
    pub(super) fn snapshot(&self) -> &str {
        &self.snapshot
    }

    /// Lets go of it.
    pub(super) async fn end(mut self) {
        drop(self.psql.stdin.take());
        // Where it does not end by itself, it is killed as this goes.
        let _ = tokio::time::timeout(END_MAX, self.psql.wait()).await;
    }
}

fn could_not(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("could not run psql: {error}"))
        .hint("copying by `--jobs` needs it beside pg_dump: install the client programs of PostgreSQL, or leave `--jobs` out")
}

/// That psql is not to be had, if it is not.
pub(super) async fn without_psql() -> Option<Failure> {
    let mut psql = match client_program("psql") {
        Ok(psql) => psql,
        Err(failure) => return Some(failure),
    };
    match psql.arg("--version").output().await {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(could_not(String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(could_not(error)),
    }
}

/// Makes a slot, which is not there, by a session of its own.
pub(super) async fn make_slot(
    server: &mut MoveSession,
    name: &str,
    most: Duration,
) -> Result<Made, Failure> {
    let command = sqlx::query_scalar(sql!("move/copy/slot.sql")).bind(name);
    let command = server.column::<String>(command).await?.concat();
    let mut psql = client_program("psql")?;
    server.address.give_to(&mut psql);
    // A database may have its sessions begin as another role, or end them soon.
    let options = format!("-c role=none {}", server.dump_options);
    psql.env("PGOPTIONS", options).env("PGAPPNAME", "shardid move");
    psql.args(["-XAtqw", "--set=ON_ERROR_STOP=1", "--dbname=replication=database"]);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut psql = psql.spawn().map_err(could_not)?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (psql.stdin.as_mut(), psql.stdout.take(), psql.stderr.take())
    else {
        return Err(Failure::new("psql has no input or output"));
    };
    stdin.write_all(format!("{command};\n").as_bytes()).await.map_err(could_not)?;
    let mut line = String::new();
    let mut stdout = BufReader::new(stdout);
    match tokio::time::timeout(most, stdout.read_line(&mut line)).await {
        Err(_) => return Ok(Made::TimedOut),
        Ok(read) => read.map_err(could_not)?,
    };
    // The name, where it begins, the snapshot, and what it is read by.
    match line.trim_end().split('|').nth(2) {
        Some(snapshot) => Ok(Made::Done(Exported { snapshot: snapshot.to_owned(), psql })),
        None => {
            let mut words = String::new();
            let mut stderr = BufReader::new(stderr);
            stderr.read_to_string(&mut words).await.map_err(could_not)?;
            Err(Failure::new(format!("replication slot {name} could not be made by psql"))
                .at(format!("node {}", server.node))
                .detail(words.trim()))
        }
    }
}
