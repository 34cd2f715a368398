//! Who works on a move: the lock of its shard, and the term by which nobody else does.

use std::time::{Duration, Instant};

use shardid_cluster::Shard;
use sqlx::Connection;

use super::failures::{older_catalog, overtaken};
use super::record::MoveRow;
use super::{Move, MoveJournal};
use crate::cuts;
use crate::failure::Failure;
use crate::moving::move_session::{MoveSession, Term};
use crate::postgres::{failure, sql};

/// How long a program waits for the lock of a move, and how often it tries: the
/// server takes a moment to notice that one which had it was killed.
const LOCK_MAX: Duration = Duration::from_secs(5);
const LOCK_EVERY: Duration = Duration::from_millis(50);

impl MoveJournal {
    /// Makes sure that nobody else works on moves of a shard as long as this session lasts.
    pub(crate) async fn lock(&mut self, shard: Shard) -> Result<(), Failure> {
        let deadline = Instant::now() + LOCK_MAX;
        while Instant::now() < deadline {
            let query = sqlx::query_scalar(sql!("move/journal/lock.sql")).bind(shard.as_sql());
            if self.server.column::<bool>(query).await? == [true] {
                return Ok(());
            }
            tokio::time::sleep(LOCK_EVERY).await;
        }
        let query = sqlx::query_scalar(sql!("move/journal/locked_by.sql")).bind(shard.as_sql());
        let holders: Vec<String> = self.server.column(query).await?;
        let who = match holders.is_empty() {
            true => "somebody else".to_owned(),
            false => holders.join(", "),
        };
        let node = &self.server.node;
        Err(Failure::new(format!("{who} is working on a move of shard {shard}")).hint(format!(
            "wait for it to end: `shardid moves`; one that hangs is ended by SELECT pg_catalog.pg_terminate_backend(…) on node {node}"
        )))
    }

    /// Begins to work on a move: locks its shard, and reads it.
    pub(crate) async fn begin(&mut self, id: i64) -> Result<Move, Failure> {
        let shard = self.read(id).await?.shard;
        self.lock(shard).await?;
        self.read(id).await
    }

    /// Claims the shard of a move on these nodes, and the move itself, for a term of ours.
    ///
    /// The lock keeps a second program out as long as the session that has it lasts; the
    /// term does after that, and for what a server does late. With the term the move is
    /// read again: from then on nobody else takes it further.
    pub(crate) async fn claim(
        &mut self,
        record: &mut Move,
        servers: &mut [&mut MoveSession],
    ) -> Result<(), Failure> {
        let mut known = 0;
        'again: loop {
            let number = match self.claim {
                Some((id, number)) if id == record.id && known == 0 => number,
                _ => self.draw_term(record, known).await?,
            };
            for server in servers.iter_mut() {
                cuts::at(format_args!("claim/before-{}", server.node));
                known = server.claim(Term { shard: record.shard, number }).await?;
                if known != number {
                    // Another program's, unless the catalog is older than the node.
                    continue 'again;
                }
            }
            return Ok(());
        }
    }

    /// Draws a term above one that a node knows, and has the move for it.
    async fn draw_term(&mut self, record: &mut Move, above: i64) -> Result<i64, Failure> {
        cuts::at(format_args!("claim/before-term"));
        let id = record.id;
        let node = self.server.node.clone();
        let failed = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(failed)?;
        let number: Option<i64> = sqlx::query_scalar(sql!("move/journal/draw_term.sql"))
            .bind(above)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(|error| match crate::postgres::is_sqlstate(&error, "42703") {
                true => older_catalog(&node),
                false => failed(error),
            })?;
        let number = number.ok_or_else(|| overtaken(id))?;
        let taken: Option<i64> = sqlx::query_scalar(sql!("move/journal/take.sql"))
            .bind(id)
            .bind(number)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed)?;
        let row: MoveRow = sqlx::query_as(sql!("move/journal/read.sql"))
            .bind(taken.ok_or_else(|| overtaken(id))?)
            .fetch_one(&mut *transaction)
            .await
            .map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        *record = row.try_into()?;
        self.claim = Some((id, number));
        Ok(number)
    }

    /// Writes something down, unless another program has taken the move over.
    pub(super) async fn note(
        &mut self,
        query: sqlx::query::Query<'_, sqlx::Postgres, sqlx::postgres::PgArguments>,
    ) -> Result<(), Failure> {
        let (id, term) = self.claimed_as()?;
        let node = self.server.node.clone();
        let failed = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(failed)?;
        let held: Option<i64> = sqlx::query_scalar(sql!("move/journal/hold.sql"))
            .bind(id)
            .bind(term)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed)?;
        if held.is_none() {
            return Err(overtaken(id));
        }
        query.execute(&mut *transaction).await.map_err(
            |error| match crate::postgres::is_sqlstate(&error, "42703") {
                true => older_catalog(&node),
                false => failed(error),
            },
        )?;
        transaction.commit().await.map_err(failed)
    }

    /// The move that is worked on, and the term.
    pub(super) fn claimed_as(&self) -> Result<(i64, i64), Failure> {
        self.claim.ok_or_else(|| Failure::new("no move was begun in the journal"))
    }
}
