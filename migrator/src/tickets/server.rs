//! One server of tickets, and what can be done on it.

use std::time::Duration;

use shardid_cluster::{Class, NodeName, TicketName};

use super::Session;
use super::statement::run;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::{mysql, postgres};

/// A connection to a server that is to be changed.
pub(crate) struct TicketServer {
    pub(crate) node: NodeName,
    pub(crate) session: Session,
}

/// How often a ticket is tried to be ended while clients take its numbers.
const RETIRE_TRIES: u32 = 200;

/// How long to wait for them to run into their ceiling.
const RETIRE_PAUSE: Duration = Duration::from_millis(10);

/// What a server says to a ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limited {
    /// It ends before this one: what was asked for, or a lower one that it had.
    Before(u64),
    /// It has handed out more already.
    Passed,
}

/// A number as both engines take it; none is larger than a bigint.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl TicketServer {
    /// Connects to a server of tickets.
    pub(crate) async fn connect(
        file: &ClusterFile,
        node: &NodeName,
        task: &str,
    ) -> Result<Self, Failure> {
        let session = Session::connect(node, file.address(node)?, task).await?;
        Ok(Self { node: node.clone(), session })
    }

    /// Makes a ticket whose numbers are all above `floor`, unless it is there.
    pub(crate) async fn create(
        &mut self,
        ticket: &TicketName,
        class: Class,
        floor: u64,
    ) -> Result<(), Failure> {
        let done = run!(
            &mut self.session,
            "tickets/create.sql",
            ticket.as_str(),
            i64::from(class.server),
            i64::from(class.servers),
            number(floor)
        );
        self.or_failure(done).await
    }

    /// Hands out nothing at or above the ceiling from here on. One that is lower already stays: a catalog that
    /// does not know why a server has ended would have it hand out what others have.
    pub(crate) async fn limit(
        &mut self,
        ticket: &TicketName,
        ceiling: u64,
    ) -> Result<Limited, Failure> {
        if let Some(known) = self.ceiling(ticket).await?.filter(|known| *known <= ceiling) {
            return Ok(Limited::Before(known));
        }
        let done = run!(&mut self.session, "tickets/limit.sql", ticket.as_str(), number(ceiling));
        match done {
            Err(error) if self.session.refused_with(&error, "55000") => Ok(Limited::Passed),
            other => self.or_failure(other).await.map(|()| Limited::Before(ceiling)),
        }
    }

    /// Hands out another class, above the floor.
    pub(crate) async fn restep(
        &mut self,
        ticket: &TicketName,
        class: Class,
        floor: u64,
    ) -> Result<(), Failure> {
        let done = run!(
            &mut self.session,
            "tickets/restep.sql",
            ticket.as_str(),
            i64::from(class.server),
            i64::from(class.servers),
            number(floor)
        );
        self.or_failure(done).await
    }

    /// Goes on above a number.
    pub(crate) async fn raise(&mut self, ticket: &TicketName, above: u64) -> Result<(), Failure> {
        let done = run!(&mut self.session, "tickets/raise.sql", ticket.as_str(), number(above));
        self.or_failure(done).await
    }

    /// Hands out nothing until it gets a class anew: it has forgotten numbers.
    ///
    /// This comes before all else, since raising waits for whoever has numbers in a transaction.
    pub(crate) async fn close(&mut self, ticket: &TicketName) -> Result<(), Failure> {
        let closed = self.retire(ticket, u64::MAX - 1).await;
        closed.map(|_| ()).map_err(|failure| {
            failure.detail(format!(
                "{} has forgotten numbers of ticket {ticket}, and hands them out again until this is done: keep clients away from it",
                self.node
            ))
        })
    }

    /// Has such a server stand above what it can have handed out and forgotten.
    pub(crate) async fn raise_closed(
        &mut self,
        ticket: &TicketName,
        above: u64,
    ) -> Result<(), Failure> {
        let raised = self.raise(ticket, above).await;
        raised.map_err(|failure| {
            failure.detail(format!(
                "{} has forgotten numbers of ticket {ticket}, and hands out nothing until this is done",
                self.node
            ))
        })
    }

    /// Hands out what is still of another server.
    pub(crate) async fn adopt(&mut self) -> Result<(), Failure> {
        let Session::Mysql(connection) = &mut self.session else { return Ok(()) };
        let done = sqlx::raw_sql(mysql::sql!("tickets/adopt.sql")).execute(connection).await;
        self.or_failure(done.map(|_| ())).await
    }

    /// Begins a ticket above `floor`, also where the server served it earlier.
    pub(crate) async fn begin(
        &mut self,
        ticket: &TicketName,
        class: Class,
        floor: u64,
    ) -> Result<(), Failure> {
        match self.last(ticket).await? {
            None => self.create(ticket, class, floor).await,
            Some(_) => self.restep(ticket, class, floor).await,
        }
    }

    /// Hands out nothing more; returns the last number.
    ///
    /// Clients may be quicker than "look, then end there". They are given one
    /// ceiling a little further on, never above the floor, and run into it.
    pub(crate) async fn retire(&mut self, ticket: &TicketName, floor: u64) -> Result<u64, Failure> {
        let mut near = false;
        for tries in 0..RETIRE_TRIES {
            let Some(last) = self.last(ticket).await? else { return Ok(0) };
            if self.limit(ticket, last + 1).await? != Limited::Passed {
                return Ok(last);
            }
            if near {
                tokio::time::sleep(RETIRE_PAUSE).await;
            } else {
                let ceiling = last.saturating_add(1 << tries.min(20)).min(floor + 1);
                near = self.limit(ticket, ceiling).await? != Limited::Passed;
            }
        }
        Err(Failure::new(format!("could not end ticket {ticket}: its clients are too quick"))
            .at(format!("node {}", self.node)))
    }

    /// The last number of a ticket, if it is there.
    async fn last(&mut self, ticket: &TicketName) -> Result<Option<u64>, Failure> {
        let last: Result<Option<i64>, _> = match &mut self.session {
            Session::Postgres(connection) => {
                sqlx::query_scalar(postgres::sql!("tickets/last.sql"))
                    .bind(ticket.as_str())
                    .fetch_optional(connection)
                    .await
            }
            Session::Mysql(connection) => {
                sqlx::query_scalar(mysql::sql!("tickets/last.sql"))
                    .bind(ticket.as_str())
                    .fetch_optional(connection)
                    .await
            }
        };
        let last = last.map_err(|error| self.session.failure(&self.node, &error))?;
        Ok(last.map(|last| u64::try_from(last).unwrap_or(0)))
    }

    /// The ceiling of a ticket, if it is there and has one.
    async fn ceiling(&mut self, ticket: &TicketName) -> Result<Option<u64>, Failure> {
        let ceiling: Result<Option<Option<i64>>, _> = match &mut self.session {
            Session::Postgres(connection) => {
                sqlx::query_scalar(postgres::sql!("tickets/ceiling.sql"))
                    .bind(ticket.as_str())
                    .fetch_optional(connection)
                    .await
            }
            Session::Mysql(connection) => {
                sqlx::query_scalar(mysql::sql!("tickets/ceiling.sql"))
                    .bind(ticket.as_str())
                    .fetch_optional(connection)
                    .await
            }
        };
        let ceiling = ceiling.map_err(|error| self.session.failure(&self.node, &error))?;
        Ok(ceiling.flatten().and_then(|ceiling| u64::try_from(ceiling).ok()))
    }

    /// Leaves a mark to know the server again by, or one with what it is told of the others.
    pub(crate) async fn mark(&mut self, mark: &str) -> Result<(), Failure> {
        let done = run!(&mut self.session, "tickets/mark.sql", mark);
        self.or_failure(done).await
    }

    async fn or_failure(&mut self, done: Result<(), sqlx::Error>) -> Result<(), Failure> {
        let Err(error) = done else { return Ok(()) };
        let failure = self.session.failure(&self.node, &error);
        match &mut self.session {
            Session::Postgres(_) => Err(failure),
            Session::Mysql(connection) => {
                Err(mysql::naming_prepared(connection, &error, failure).await)
            }
        }
    }
}
