//! Whom a statement waits for: said while it waits, and named where it is given up.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use shardid_cluster::NodeName;

use super::{connect, failure, is_sqlstate, sql};
use crate::failure::Failure;
use crate::file::Address;
use crate::talk;

/// When it is asked for the first time, and then again: hardly any statement takes as long.
const FIRST: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_secs(5);

/// How long an answer is waited for.
const ASK_MAX: Duration = Duration::from_secs(5);

/// What a server says of a statement that has waited too long: no lock, a deadlock, out of time.
pub(crate) const WAITED: [&str; 3] = ["55P03", "40P01", "57014"];

/// A session whose statements may wait for locks.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    pub(crate) node: NodeName,
    pub(crate) address: Address,
    /// The server process that works for it.
    pub(crate) pid: i32,
}

/// Who keeps a statement waiting, for a person, and what ends that.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Holder {
    who: String,
    how: String,
}

impl Holder {
    /// That it was waited for too long, with who it was.
    pub(crate) fn name(&self, failure: Failure) -> Failure {
        let Self { who, how } = self;
        failure
            .detail(format!("it has waited for a lock: {who}"))
            .hint_instead(format!("{how} there ends it; then run the same command again"))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who)
    }
}

impl Waiter {
    /// Does something, and says whom it waits for when that takes long; with who it was last.
    pub(crate) async fn over<T>(&self, work: impl Future<Output = T>) -> (T, Option<Holder>) {
        let seen = Mutex::new(None);
        let done = match select(pin!(work), pin!(self.watch(&seen))).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        };
        (done, seen.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The failure of a statement, with who was seen to hold what it has waited for in vain.
    pub(crate) fn failure(&self, error: &sqlx::Error, holder: Option<Holder>) -> Failure {
        let failure = failure(&self.node, error);
        match holder {
            Some(holder) if WAITED.iter().any(|code| is_sqlstate(error, code)) => {
                holder.name(failure)
            }
            _ => failure,
        }
    }

    async fn watch(&self, seen: &Mutex<Option<Holder>>) -> Infallible {
        tokio::time::sleep(FIRST).await;
        loop {
            // Who cannot be asked leaves it at who was seen before.
            if let Ok(Some(now)) = tokio::time::timeout(ASK_MAX, self.ask()).await {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if seen.as_ref().is_none_or(|seen: &Holder| seen.how != now.how) {
                    talk::line(format_args!("  waiting on node {}: {}", self.node, now.who));
                }
                *seen = Some(now);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn ask(&self) -> Option<Holder> {
        let mut connection = connect(&self.node, &self.address, "look").await.ok()?;
        let query = sqlx::query_as(sql!("move/prepared.sql", "look/waits_for.sql")).bind(self.pid);
        query.fetch_optional(&mut connection).await.ok()?
    }
}
