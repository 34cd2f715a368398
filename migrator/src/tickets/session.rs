//! A connection to a node, whatever it is.

use std::time::{Duration, Instant};

use shardid_cluster::{Engine, NodeName};
use sqlx::mysql::MySqlConnection;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};

use crate::failure::Failure;
use crate::file::Address;
use crate::{mysql, postgres, talk};

/// How long a session is waited for at least that has a server's tickets, since a server takes
/// a moment to notice that a program was killed; and how often it is tried.
const LOCK_MIN: Duration = Duration::from_secs(2);
const LOCK_EVERY: Duration = Duration::from_millis(50);

/// A connection to a PostgreSQL or MySQL node.
pub(crate) enum Session {
    Postgres(PgConnection),
    Mysql(MySqlConnection),
}

impl Session {
    /// Connects within the time that the node's URL allows.
    pub(crate) async fn connect(
        node: &NodeName,
        address: &Address,
        task: &str,
    ) -> Result<Self, Failure> {
        match address.engine() {
            Engine::Postgres => postgres::connect(node, address, task).await.map(Self::Postgres),
            Engine::Mysql => mysql::connect(node, address).await.map(Self::Mysql),
        }
    }

    /// Lets nothing be changed from here on, which the server enforces.
    pub(crate) async fn read_only(&mut self, node: &NodeName) -> Result<(), Failure> {
        let done = match self {
            Self::Postgres(connection) => {
                connection.execute(postgres::sql!("look/begin.sql")).await.map(|_| ())
            }
            Self::Mysql(connection) => {
                connection.execute(mysql::sql!("session/read_only.sql")).await.map(|_| ())
            }
        };
        done.map_err(|error| self.failure(node, &error))
    }

    /// What the server's clock reads, in microseconds since 1970.
    pub(crate) async fn clock_us(&mut self, node: &NodeName) -> Result<i64, Failure> {
        let read = match self {
            Self::Postgres(connection) => {
                sqlx::query_scalar(postgres::sql!("session/clock.sql")).fetch_one(connection).await
            }
            Self::Mysql(connection) => {
                sqlx::query_scalar(mysql::sql!("session/clock.sql")).fetch_one(connection).await
            }
        };
        read.map_err(|error| self.failure(node, &error))
    }

    /// An error of this session's server.
    pub(crate) fn failure(&self, node: &NodeName, error: &sqlx::Error) -> Failure {
        match self {
            Self::Postgres(_) => postgres::failure(node, error),
            Self::Mysql(_) => mysql::failure(node, error),
        }
    }

    /// Whether the server refused with this SQLSTATE.
    pub(crate) fn refused_with(&self, error: &sqlx::Error, code: &str) -> bool {
        match self {
            Self::Postgres(_) => postgres::is_sqlstate(error, code),
            Self::Mysql(_) => mysql::sqlstate(error) == Some(code),
        }
    }

    /// Takes the node's lock for as long as this session lasts.
    pub(crate) async fn lock(&mut self, node: &NodeName, wait: Duration) -> Result<(), Failure> {
        match self {
            Self::Postgres(connection) => postgres::lock::take(connection, node, wait).await,
            Self::Mysql(connection) => lock_mysql(connection, node, wait).await,
        }
    }

    /// Takes the lock of a server's tickets for as long as this session lasts.
    pub(crate) async fn lock_tickets(
        &mut self,
        node: &NodeName,
        wait: Duration,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + wait.max(LOCK_MIN);
        loop {
            let got: Result<bool, sqlx::Error> = match self {
                Self::Postgres(connection) => {
                    sqlx::query_scalar(postgres::sql!("lock/tickets.sql"))
                        .fetch_one(connection)
                        .await
                }
                Self::Mysql(connection) => {
                    sqlx::query_scalar(mysql::sql!("lock/tickets.sql")).fetch_one(connection).await
                }
            };
            if got.map_err(|error| self.failure(node, &error))? {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Failure::new("another program is changing tickets there")
                    .at(format!("node {node}"))
                    .hint("wait for it to end, or give it longer with `--wait-seconds-max`"));
            }
            tokio::time::sleep(LOCK_EVERY).await;
        }
    }

    /// Makes sure that the lock is still ours before something is changed.
    pub(crate) async fn check_lock(&mut self, node: &NodeName) -> Result<(), Failure> {
        match self {
            Self::Postgres(connection) => postgres::lock::check(connection, node).await,
            Self::Mysql(connection) => {
                let held: i64 = sqlx::query_scalar(mysql::sql!("lock/held.sql"))
                    .fetch_one(connection)
                    .await
                    .map_err(|error| mysql::failure(node, &error))?;
                match held {
                    1 => Ok(()),
                    _ => Err(Failure::new("the lock of this node was lost")
                        .at(format!("node {node}"))
                        .hint("connect to the server itself, not through a pooler")),
                }
            }
        }
    }

    /// Ends it in good order; the server notices by itself otherwise.
    pub(crate) async fn close(self) {
        let _ = match self {
            Self::Postgres(connection) => connection.close().await,
            Self::Mysql(connection) => connection.close().await,
        };
    }
}

/// The same as [`postgres::lock::take`], by `GET_LOCK`.
async fn lock_mysql(
    connection: &mut MySqlConnection,
    node: &NodeName,
    wait: Duration,
) -> Result<(), Failure> {
    let failed = |error: sqlx::Error| mysql::failure(node, &error);
    let mut waits = [0, wait.as_secs()].into_iter();
    loop {
        let seconds = waits.next().expect("the second wait ends it");
        let got: Option<i64> = sqlx::query_scalar(mysql::sql!("lock/take.sql"))
            .bind(i64::try_from(seconds).unwrap_or(i64::MAX))
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
        if got == Some(1) {
            return Ok(());
        }
        let holder: Option<(i64, String)> = sqlx::query_as(mysql::sql!("lock/holder.sql"))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed)?;
        let holder =
            holder.map_or("somebody".to_owned(), |(id, who)| format!("{who} (connection {id})"));
        if seconds > 0 || wait.is_zero() {
            return Err(Failure::new(format!("node {node} is being changed by {holder}"))
                .hint("wait for it to end, or give it longer with `--wait-seconds-max`; where it is this program itself, two nodes of the cluster file are one server"));
        }
        talk::line(format_args!("waiting for {holder}, at most {} s", wait.as_secs()));
    }
}
