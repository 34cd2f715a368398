//! All shards of a node are taken in hand, so that no move changes it any more by what it knows.

use std::time::{Duration, Instant};

use shardid_cluster::ShardSet;
use sqlx::Connection;

use super::node_session::{NodeSession, SHARDS_PER_TRANSACTION};
use crate::failure::Failure;
use crate::postgres::{failure_of_ours, is_sqlstate, sql};

/// How long it waits for programs at work, and how often it looks: the server takes a moment to notice
/// that one was killed.
const AT_WORK_MAX: Duration = Duration::from_secs(5);
const AT_WORK_EVERY: Duration = Duration::from_millis(100);

/// How long a claim waits for whoever has a shard in hand.
const CLAIM_TIMEOUT: &str = "10s";

impl NodeSession {
    /// Claims shards for a term, and ends what programs have under way here by an earlier one, as whoever
    /// resumes a move does. Returns the highest term that is known here: all are claimed if it is this one.
    pub(crate) async fn claim_shards(
        &mut self,
        shards: &ShardSet,
        term: i64,
    ) -> Result<i64, Failure> {
        let node = self.node.clone();
        let failed = |error: sqlx::Error| failure_of_ours(&node, &error);
        let knows: bool = sqlx::query_scalar(sql!("apply/knows_terms.sql"))
            .fetch_one(&mut self.connection)
            .await
            .map_err(failed)?;
        if !knows {
            return Ok(term);
        }
        // Where it is not for us to end them, the claim waits for them.
        let end = sqlx::query(sql!("apply/end_moves.sql")).bind(term);
        let _ = end.execute(&mut self.connection).await;
        let mut known = term;
        let mut left = shards.clone();
        while !left.is_empty() {
            let batch = left.take_lowest(SHARDS_PER_TRANSACTION);
            let mut transaction = self.connection.begin().await.map_err(failed)?;
            let timeout = sqlx::query(sql!("apply/lock_timeout.sql")).bind(CLAIM_TIMEOUT);
            timeout.execute(&mut *transaction).await.map_err(failed)?;
            let claim = sqlx::query_scalar(sql!("apply/claim_shards.sql"));
            let claimed: Result<i64, sqlx::Error> =
                claim.bind(batch.to_sql()).bind(term).fetch_one(&mut *transaction).await;
            match claimed {
                Ok(highest) => known = known.max(highest),
                Err(error) if is_sqlstate(&error, "55P03") => {
                    transaction.rollback().await.map_err(failed)?;
                    return Err(self.in_hand().await);
                }
                Err(error) => return Err(failed(error)),
            }
            transaction.commit().await.map_err(failed)?;
        }
        Ok(known)
    }

    /// Refuses to go on while programs work on moves by a catalog that was here.
    pub(crate) async fn check_at_rest(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + AT_WORK_MAX;
        loop {
            let query = sqlx::query_scalar(sql!("apply/at_work.sql"));
            let at_work: Result<Vec<String>, _> = query.fetch_all(&mut self.connection).await;
            let at_work = at_work.map_err(|error| failure_of_ours(&self.node, &error))?;
            if at_work.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Failure::new(at_work.join("; "))
                    .at(format!("node {}", self.node))
                    .hint("wait for it to end; one that hangs is ended there by SELECT pg_catalog.pg_terminate_backend(…); then run the same command again"));
            }
            tokio::time::sleep(AT_WORK_EVERY).await;
        }
    }

    /// Somebody has shards here in hand, and does not let go of them.
    async fn in_hand(&mut self) -> Failure {
        let holders = sqlx::query_scalar(sql!("apply/claimed_by.sql"));
        let holders: Vec<String> =
            holders.fetch_all(&mut self.connection).await.unwrap_or_default();
        let who = match holders.is_empty() {
            true => "somebody".to_owned(),
            false => holders.join(", "),
        };
        Failure::new(format!("{who} has shards in hand, as a program that moves one"))
            .at(format!("node {}", self.node))
            .hint("wait for it to end, or end it there: SELECT pg_catalog.pg_terminate_backend(…); then run the same command again")
    }
}
