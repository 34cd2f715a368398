//! What the catalog keeps about tickets: their servers, how far those were,
//! and the journal of changes.

use shardid_cluster::{
    ChangeState, KnownServer, NodeName, Rename, Seen, SeenAt, TicketChange, TicketName,
    TicketTruth, UnknownWord,
};
use sqlx::{Connection, FromRow};

use super::statement::{changed, rows, run};
use super::{Session, clock};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::mysql::{self, migrate};
use crate::postgres::who;

/// The catalog, with its lock held.
pub(crate) struct TicketJournal {
    pub(crate) node: NodeName,
    pub(crate) session: Session,
    /// The change that is worked on, and the term by which.
    claim: Option<(i64, i64)>,
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

#[derive(FromRow)]
struct StandingRow {
    nodes_before: String,
    nodes_after: String,
    nodes_gone: String,
    state: String,
    floor: i64,
    term: i64,
}

impl StandingRow {
    fn has_before(&self, node: &NodeName) -> bool {
        self.nodes_before.split(',').any(|name| name == node.as_str())
    }
}

/// How often a change is taken that other programs take at the same moment.
const TAKES_MAX: u32 = 5;

impl TicketJournal {
    /// Connects to the catalog's node.
    pub(crate) async fn connect(file: &ClusterFile, task: &str) -> Result<Self, Failure> {
        let node = file.declared.catalog.clone();
        let mut session = Session::connect(&node, file.address(&node)?, task).await?;
        clock::follow(session.clock_us(&node).await?);
        Ok(Self { node, session, claim: None })
    }

    /// Reads what is known, in a transaction that cannot change anything.
    pub(crate) async fn look(file: &ClusterFile, task: &str) -> Result<TicketTruth, Failure> {
        let mut journal = Self::connect(file, task).await?;
        journal.session.read_only(&journal.node).await?;
        let truth = journal.read().await;
        if let (Err(_), Session::Mysql(connection)) = (&truth, &mut journal.session)
            && let Err(failure) = mysql::look::rights_of_definers(connection, &journal.node).await
            && failure.is_answer()
        {
            // It names the account that lacks a right, as the server's own error does not.
            return Err(failure);
        }
        journal.session.close().await;
        truth
    }

    /// Reads what is known.
    pub(crate) async fn read(&mut self) -> Result<TicketTruth, Failure> {
        let mut truth = TicketTruth { catalog: Some(self.node.clone()), ..TicketTruth::default() };
        if let Session::Mysql(connection) = &mut self.session {
            let failed = |error: sqlx::Error| mysql::failure(&self.node, &error);
            let (_, has): (bool, bool) = sqlx::query_as(mysql::sql!("look/has.sql"))
                .fetch_one(&mut *connection)
                .await
                .map_err(failed)?;
            let run: Vec<(i32, String, String)> = match has {
                true => sqlx::query_as(mysql::sql!("look/catalog_migrations.sql"))
                    .fetch_all(connection)
                    .await
                    .map_err(failed)?,
                false => Vec::new(),
            };
            let last = run.last().map_or(0, |(version, _, _)| *version);
            if last > migrate::latest(&migrate::of_catalog()) {
                return Err(Failure::new("the catalog was changed by a newer program")
                    .at(format!("node {}", self.node))
                    .hint("use that program"));
            }
            truth.catalog_migration = Some(last);
        }
        let has: Result<Vec<HasRow>, _> = rows!(&mut self.session, "tickets/has.sql");
        if !self.or_failure(has)?.first().is_some_and(|has| has.catalog) {
            return Ok(truth);
        }
        let nodes: Result<Vec<NodeRow>, _> = rows!(&mut self.session, "tickets/known_nodes.sql");
        for row in self.or_failure(nodes)? {
            let marks = row.mark.into_iter().chain(row.next_mark).collect();
            let known = KnownServer { identity: row.identity, marks };
            truth.known_servers.insert(self.node_name(&row.node)?, known);
        }
        let servers: Result<Vec<ServerRow>, _> = rows!(&mut self.session, "tickets/known.sql");
        for row in self.or_failure(servers)? {
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
        for row in self.or_failure(changes)? {
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
        self.in_transaction(Some((ticket, servers)), None).await.map(|_| ())
    }

    /// Takes a change in hand, as it is now: from then on no other program writes it further.
    ///
    /// Whoever does has all servers locked by the sessions that change them, so that nothing
    /// which an earlier program has begun there comes later.
    pub(crate) async fn take(&mut self, change: &mut TicketChange) -> Result<(), Failure> {
        for _ in 0..TAKES_MAX {
            let rows: Result<Vec<StandingRow>, _> =
                rows!(&mut self.session, "tickets/standing.sql", change.id);
            let now = self.or_failure(rows).map_err(|failure| {
                failure.hint("`shardid apply` brings a catalog of an older program up to date")
            })?;
            let Some(now) = now.into_iter().next() else { return Err(overtaken(change)) };
            let wrong = |what: String| {
                Failure::new(what).at(format!("change {} of ticket {}", change.id, change.ticket))
            };
            let state = now.state.parse().map_err(|e: UnknownWord| wrong(e.to_string()))?;
            let floor =
                u64::try_from(now.floor).map_err(|_| wrong("its floor is below 0".to_owned()))?;
            let taken = changed!(
                &mut self.session,
                "tickets/take_change.sql",
                change.id,
                now.term,
                now.state.as_str(),
                now.floor
            );
            if self.or_failure(taken)? == 1 {
                (change.state, change.floor) = (state, floor);
                // What hands the ticket out beside them takes part, too, and is not written down.
                let mut before = self.nodes(&now.nodes_before)?;
                before.extend(change.before.drain(..).filter(|node| !now.has_before(node)));
                change.before = before;
                change.after = self.nodes(&now.nodes_after)?;
                change.gone = self.nodes(&now.nodes_gone)?;
                self.claim = Some((change.id, now.term + 1));
                return Ok(());
            }
        }
        Err(overtaken(change))
    }

    /// The term by which a change is worked on.
    fn term_of(&self, change: &TicketChange) -> Result<i64, Failure> {
        let claim = self.claim.filter(|(id, _)| *id == change.id);
        claim.map(|(_, term)| term).ok_or_else(|| Failure::new("no change was claimed"))
    }

    /// Writes down that all effects of a change's state are done, unless another program has
    /// taken it in hand. With the servers of the ticket as they are from here on, if they are
    /// new.
    pub(crate) async fn advance(
        &mut self,
        change: &mut TicketChange,
        next: ChangeState,
        servers: Option<&[(NodeName, Seen)]>,
    ) -> Result<(), Failure> {
        let ticket = change.ticket.clone();
        let servers = servers.map(|servers| (&ticket, servers));
        let step =
            Step { change: change.id, from: change.state, to: next, term: self.term_of(change)? };
        if !self.in_transaction(servers, Some(step)).await? {
            return Err(overtaken(change));
        }
        change.state = next;
        Ok(())
    }

    /// Writes both, or none where the step is not one any more: then it is false.
    async fn in_transaction(
        &mut self,
        servers: Option<(&TicketName, &[(NodeName, Seen)])>,
        step: Option<Step>,
    ) -> Result<bool, Failure> {
        /// The same for both drivers, whose transactions are different types.
        macro_rules! write {
            ($connection:expr, $sql:path) => {{
                use $sql as sql;
                let mut transaction = $connection.begin().await?;
                if let Some(step) = step {
                    let done = sqlx::query(sql!("tickets/advance_change.sql"))
                        .bind(step.to.as_str())
                        .bind(step.change)
                        .bind(step.from.as_str())
                        .bind(step.term)
                        .execute(&mut *transaction)
                        .await?;
                    if done.rows_affected() != 1 {
                        return Ok(false);
                    }
                }
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
                transaction.commit().await.map(|()| true)
            }};
        }
        let session = &mut self.session;
        let write = async {
            match session {
                Session::Postgres(connection) => write!(connection, crate::postgres::sql),
                Session::Mysql(connection) => write!(connection, crate::mysql::sql),
            }
        };
        let written: Result<bool, sqlx::Error> = write.await;
        self.or_failure(written)
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
        self.or_failure(done)
    }

    /// Gives a server another name.
    pub(crate) async fn rename(&mut self, rename: &Rename) -> Result<(), Failure> {
        let (from, to) = (rename.from.as_str(), rename.to.as_str());
        // That it is known by the old name is what a plan sees: it goes last.
        let done = run!(&mut self.session, "tickets/rename_server.sql", to, from);
        self.or_failure(done)?;
        let done = run!(&mut self.session, "tickets/rename_node.sql", to, from);
        self.or_failure(done)
    }

    /// Writes the mark that is about to be left on a server.
    pub(crate) async fn begin_mark(
        &mut self,
        node: &NodeName,
        identity: &str,
        mark: &str,
    ) -> Result<(), Failure> {
        let done = run!(&mut self.session, "tickets/begin_mark.sql", node.as_str(), identity, mark);
        self.or_failure(done)
    }

    /// Writes that the mark is there.
    pub(crate) async fn end_mark(
        &mut self,
        node: &NodeName,
        identity: &str,
    ) -> Result<(), Failure> {
        let done = run!(&mut self.session, "tickets/end_mark.sql", identity, node.as_str());
        self.or_failure(done)
    }

    /// Writes a change down, before anything is done about it, and reads it back. `known` are
    /// the servers of the ticket as the catalog had them when the change was planned.
    pub(crate) async fn begin_change(
        &mut self,
        change: &TicketChange,
        known: &[NodeName],
    ) -> Result<TicketChange, Failure> {
        let done = changed!(
            &mut self.session,
            "tickets/begin_change.sql",
            change.ticket.as_str(),
            list(&change.before),
            list(&change.after),
            list(&change.gone),
            i64::try_from(change.floor).unwrap_or(i64::MAX),
            who(),
            list(known)
        );
        if self.or_failure(done)? != 1 {
            return Err(Failure::new(format!(
                "somebody else has changed the servers of ticket {}",
                change.ticket
            ))
            .hint("`shardid tickets status` shows them; then say it again"));
        }
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
        let term = self.term_of(change)?;
        let done = changed!(
            &mut self.session,
            "tickets/raise_floor.sql",
            i64::try_from(floor).unwrap_or(i64::MAX),
            change.id,
            term
        );
        if self.or_failure(done)? != 1 {
            return Err(overtaken(change));
        }
        change.floor = change.floor.max(floor);
        Ok(())
    }

    /// Writes down that a change begins anew, which the servers have left behind.
    pub(crate) async fn begin_anew(
        &mut self,
        change: &mut TicketChange,
        anew: TicketChange,
    ) -> Result<(), Failure> {
        let term = self.term_of(change)?;
        let done = changed!(
            &mut self.session,
            "tickets/begin_anew.sql",
            list(&anew.before),
            i64::try_from(anew.floor).unwrap_or(i64::MAX),
            change.id,
            change.state.as_str(),
            term
        );
        if self.or_failure(done)? != 1 {
            return Err(overtaken(change));
        }
        *change = anew;
        Ok(())
    }

    /// Writes down what becomes of a change where servers are gone for good, before anything is done
    /// without them.
    pub(crate) async fn declare_gone(
        &mut self,
        change: &mut TicketChange,
        without: TicketChange,
    ) -> Result<(), Failure> {
        let term = self.term_of(change)?;
        let done = changed!(
            &mut self.session,
            "tickets/declare_gone.sql",
            list(&without.after),
            list(&without.gone),
            i64::try_from(without.floor).unwrap_or(i64::MAX),
            change.id,
            change.state.as_str(),
            term
        );
        if self.or_failure(done)? != 1 {
            return Err(overtaken(change));
        }
        *change = without;
        Ok(())
    }

    fn or_failure<T>(&self, done: Result<T, sqlx::Error>) -> Result<T, Failure> {
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

fn list(nodes: &[NodeName]) -> String {
    nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(",")
}

/// A step of a change, from a state to the next, by the program with a term.
#[derive(Clone, Copy)]
struct Step {
    change: i64,
    from: ChangeState,
    to: ChangeState,
    term: i64,
}

/// Another program has begun to work on a change.
fn overtaken(change: &TicketChange) -> Failure {
    Failure::new(format!(
        "somebody else has begun to work on the change of the servers of ticket {}",
        change.ticket
    ))
    .hint("`shardid tickets status` shows how far it is")
}
