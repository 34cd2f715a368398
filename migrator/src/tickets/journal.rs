//! What the catalogue keeps about tickets: their servers, how far those were,
//! and the journal of changes.

use shardid_cluster::{
    ChangeState, KnownServer, NodeName, Seen, SeenAt, TicketChange, TicketName, TicketTruth,
    UnknownWord,
};
use sqlx::{Connection, FromRow};

use super::{Session, rows, run};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::mysql::{self, migrate};
use crate::postgres::who;

/// The catalogue, with its lock held.
pub(crate) struct Journal {
    pub(crate) node: NodeName,
    pub(crate) session: Session,
}

#[derive(FromRow)]
struct HasRow {
    catalog: bool,
}

#[derive(FromRow)]
struct NodeRow {
    node: String,
    identity: String,
    mark: Option<String>,
    next_mark: Option<String>,
}

#[derive(FromRow)]
struct ServerRow {
    ticket: String,
    node: String,
    last_number: Option<i64>,
    last_us: Option<i64>,
    before_number: Option<i64>,
    before_us: Option<i64>,
}

#[derive(FromRow)]
struct ChangeRow {
    change: i64,
    ticket: String,
    nodes_before: String,
    nodes_after: String,
    nodes_gone: String,
    floor: i64,
    state: String,
}

impl Journal {
    /// Connects to the catalogue's node.
    pub(crate) async fn connect(file: &ClusterFile, task: &str) -> Result<Self, Failure> {
        let node = file.declared.catalog.clone();
        let session = Session::connect(&node, file.address(&node)?, task).await?;
        Ok(Self { node, session })
    }

    /// Reads what is known, in a transaction that cannot change anything.
    pub(crate) async fn look(file: &ClusterFile, task: &str) -> Result<TicketTruth, Failure> {
        let mut journal = Self::connect(file, task).await?;
        journal.session.read_only(&journal.node).await?;
        let truth = journal.read().await?;
        journal.session.close().await;
        Ok(truth)
    }

    /// Reads what is known.
    pub(crate) async fn read(&mut self) -> Result<TicketTruth, Failure> {
        let mut truth = TicketTruth { catalog: Some(self.node.clone()), ..TicketTruth::default() };
        if let Session::Mysql(connection) = &mut self.session {
            let said = |error: sqlx::Error| mysql::failure(&self.node, &error);
            let (_, has): (bool, bool) = sqlx::query_as(mysql::sql!("look/has.sql"))
                .fetch_one(&mut *connection)
                .await
                .map_err(said)?;
            let run: Vec<(i32, String, String)> = match has {
                true => sqlx::query_as(mysql::sql!("look/catalog_migrations.sql"))
                    .fetch_all(connection)
                    .await
                    .map_err(said)?,
                false => Vec::new(),
            };
            let last = run.last().map_or(0, |(version, _, _)| *version);
            if last > migrate::latest(&migrate::of_catalog()) {
                return Err(Failure::new("the catalogue was changed by a newer program")
                    .at(format!("node {}", self.node))
                    .hint("use that program"));
            }
            truth.catalog_migration = Some(last);
        }
        let has: Result<Vec<HasRow>, _> = rows!(&mut self.session, "tickets/has.sql");
        if !self.said(has)?.first().is_some_and(|has| has.catalog) {
            return Ok(truth);
        }
        let nodes: Result<Vec<NodeRow>, _> = rows!(&mut self.session, "tickets/known_nodes.sql");
        for row in self.said(nodes)? {
            let marks = row.mark.into_iter().chain(row.next_mark).collect();
            let known = KnownServer { identity: row.identity, marks };
            truth.known_servers.insert(self.node_name(&row.node)?, known);
        }
        let servers: Result<Vec<ServerRow>, _> = rows!(&mut self.session, "tickets/known.sql");
        for row in self.said(servers)? {
            let (ticket, node) = (self.ticket(&row.ticket)?, self.node_name(&row.node)?);
            let at = |number: Option<i64>, at_us: Option<i64>| {
                Some(SeenAt { number: u64::try_from(number?).ok()?, at_us: at_us? })
            };
            let seen = Seen {
                last: at(row.last_number, row.last_us),
                before: at(row.before_number, row.before_us),
            };
            truth.known.entry(ticket).or_default().servers.push((node, seen));
        }
        let changes: Result<Vec<ChangeRow>, _> = rows!(&mut self.session, "tickets/changes.sql");
        for row in self.said(changes)? {
            let wrong = |what: &str| {
                Failure::new(format!("change {} of ticket {}: {what}", row.change, row.ticket))
                    .at(format!("node {}", self.node))
            };
            truth.changes.push(TicketChange {
                id: row.change,
                ticket: self.ticket(&row.ticket)?,
                before: self.nodes(&row.nodes_before)?,
                after: self.nodes(&row.nodes_after)?,
                gone: self.nodes(&row.nodes_gone)?,
                floor: u64::try_from(row.floor).map_err(|_| wrong("its floor is below 0"))?,
                state: row.state.parse().map_err(|error: UnknownWord| wrong(&error.to_string()))?,
            });
        }
        Ok(truth)
    }

    /// Writes the servers of a ticket, and what was seen of those that stay.
    pub(crate) async fn write(
        &mut self,
        ticket: &TicketName,
        servers: &[(NodeName, Seen)],
    ) -> Result<(), Failure> {
        self.in_transaction(Some((ticket, servers)), None).await
    }

    /// Writes down that all effects of a change's state are done. With the
    /// servers of the ticket as they are from here on, if they are new.
    pub(crate) async fn advance(
        &mut self,
        change: &mut TicketChange,
        next: ChangeState,
        servers: Option<&[(NodeName, Seen)]>,
    ) -> Result<(), Failure> {
        let ticket = change.ticket.clone();
        let servers = servers.map(|servers| (&ticket, servers));
        self.in_transaction(servers, Some((change.id, next))).await?;
        change.state = next;
        Ok(())
    }

    async fn in_transaction(
        &mut self,
        servers: Option<(&TicketName, &[(NodeName, Seen)])>,
        advance: Option<(i64, ChangeState)>,
    ) -> Result<(), Failure> {
        /// The same for both drivers, whose transactions are different types.
        macro_rules! write {
            ($connection:expr, $sql:path) => {{
                use $sql as sql;
                let mut transaction = $connection.begin().await?;
                if let Some((ticket, servers)) = servers {
                    sqlx::query(sql!("tickets/forget_servers.sql"))
                        .bind(ticket.as_str())
                        .execute(&mut *transaction)
                        .await?;
                    for ((node, seen), server) in servers.iter().zip(1_i32..) {
                        let number = |at: Option<SeenAt>| {
                            at.map(|at| i64::try_from(at.number).unwrap_or(i64::MAX))
                        };
                        sqlx::query(sql!("tickets/write_server.sql"))
                            .bind(ticket.as_str())
                            .bind(server)
                            .bind(node.as_str())
                            .bind(number(seen.last))
                            .bind(seen.last.map(|at| at.at_us))
                            .bind(number(seen.before))
                            .bind(seen.before.map(|at| at.at_us))
                            .execute(&mut *transaction)
                            .await?;
                    }
                }
                if let Some((change, state)) = advance {
                    sqlx::query(sql!("tickets/advance_change.sql"))
                        .bind(state.as_str())
                        .bind(change)
                        .execute(&mut *transaction)
                        .await?;
                }
                transaction.commit().await
            }};
        }
        let written: Result<(), sqlx::Error> = match &mut self.session {
            Session::Postgres(connection) => {
                async { write!(connection, crate::postgres::sql) }.await
            }
            Session::Mysql(connection) => async { write!(connection, crate::mysql::sql) }.await,
        };
        self.said(written)
    }

    /// Writes how far a server is.
    pub(crate) async fn seen(
        &mut self,
        ticket: &TicketName,
        node: &NodeName,
        seen: Seen,
    ) -> Result<(), Failure> {
        let number = |at: Option<SeenAt>| at.map(|at| i64::try_from(at.number).unwrap_or(i64::MAX));
        let done = run!(
            &mut self.session,
            "tickets/seen.sql",
            number(seen.last),
            seen.last.map(|at| at.at_us),
            number(seen.before),
            seen.before.map(|at| at.at_us),
            ticket.as_str(),
            node.as_str()
        );
        self.said(done)
    }

    /// Writes the mark that is about to be left on a server.
    pub(crate) async fn begin_mark(
        &mut self,
        node: &NodeName,
        identity: &str,
        mark: &str,
    ) -> Result<(), Failure> {
        let done = run!(&mut self.session, "tickets/begin_mark.sql", node.as_str(), identity, mark);
        self.said(done)
    }

    /// Writes that the mark is there.
    pub(crate) async fn end_mark(
        &mut self,
        node: &NodeName,
        identity: &str,
    ) -> Result<(), Failure> {
        let done = run!(&mut self.session, "tickets/end_mark.sql", identity, node.as_str());
        self.said(done)
    }

    /// Writes a change down, before anything is done about it, and reads it back.
    pub(crate) async fn begin_change(
        &mut self,
        change: &TicketChange,
    ) -> Result<TicketChange, Failure> {
        let list =
            |nodes: &[NodeName]| nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(",");
        let done = run!(
            &mut self.session,
            "tickets/begin_change.sql",
            change.ticket.as_str(),
            list(&change.before),
            list(&change.after),
            list(&change.gone),
            i64::try_from(change.floor).unwrap_or(i64::MAX),
            who()
        );
        self.said(done)?;
        let written = self.read().await?.changes;
        written.into_iter().find(|one| one.ticket == change.ticket).ok_or_else(|| {
            Failure::new("the change is not in the journal").at(format!("node {}", self.node))
        })
    }

    /// Writes a higher floor, as long as no server has its new class.
    pub(crate) async fn raise_floor(
        &mut self,
        change: &mut TicketChange,
        floor: u64,
    ) -> Result<(), Failure> {
        let done = run!(
            &mut self.session,
            "tickets/raise_floor.sql",
            i64::try_from(floor).unwrap_or(i64::MAX),
            change.id
        );
        self.said(done)?;
        change.floor = change.floor.max(floor);
        Ok(())
    }

    fn said<T>(&self, done: Result<T, sqlx::Error>) -> Result<T, Failure> {
        done.map_err(|error| self.session.failure(&self.node, &error))
    }

    fn ticket(&self, name: &str) -> Result<TicketName, Failure> {
        TicketName::new(name)
            .map_err(|error| Failure::new(error).at(format!("node {}: ticket {name}", self.node)))
    }

    fn node_name(&self, name: &str) -> Result<NodeName, Failure> {
        NodeName::new(name)
            .map_err(|error| Failure::new(error).at(format!("node {}: node {name}", self.node)))
    }

    fn nodes(&self, list: &str) -> Result<Vec<NodeName>, Failure> {
        list.split(',').filter(|name| !name.is_empty()).map(|name| self.node_name(name)).collect()
    }
}
