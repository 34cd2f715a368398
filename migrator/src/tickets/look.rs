//! Looking at ticket servers and at the catalog, without changing anything.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use shardid_cluster::{
    ByHand, Class, NodeName, Shard, ShardSet, TicketName, TicketProblem, TicketServer, TicketState,
    TicketTruth, marked_by, marked_with, problems,
};
use sqlx::FromRow;

use super::statement::rows;
use super::{Session, TicketJournal};
use crate::cuts;
use crate::failure::Failure;
use crate::file::{Address, ClusterFile};
use crate::mysql::look::{Settings, replica, rights_of_definers, unsafe_tables};
use crate::mysql::{self, migrate};

/// What a node said, and what speaks against it.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `MariaDB 10.11.14`, `PostgreSQL`.
    pub(crate) version: String,
    /// The cluster whose mark it has.
    pub(crate) cluster: Option<String>,
    /// Its tickets.
    pub(crate) server: TicketServer,
    /// Why it should hand out none, unless somebody accepts it.
    pub(crate) refusals: Vec<Failure>,
    /// The last migration that this kind of server needs.
    pub(crate) latest: i32,
    /// Routines of ours that are missing, or of an earlier version.
    pub(crate) missing: Vec<String>,
    /// Whether it has the tables of the schema alone, as after a dump without routines.
    pub(crate) is_bare: bool,
}

/// What was seen of tickets.
#[derive(Debug)]
pub(crate) struct Look {
    /// What a plan is made of; servers that did not answer are missing in it.
    pub(crate) truth: TicketTruth,
    /// Each node that tickets have to do with, in the order of the file.
    pub(crate) nodes: Vec<(NodeName, Result<Answer, Failure>)>,
    /// Servers with the mark of another cluster, and its name. No truth has them, unless they are taken over.
    pub(crate) others: BTreeMap<NodeName, String>,
}

impl Look {
    /// Fails where a server did not answer or must not hand out numbers.
    pub(crate) fn whole(mut self) -> Result<Self, Failure> {
        let mut failures = Vec::new();
        let mut nodes = Vec::new();
        for (node, answer) in self.nodes {
            match answer {
                Err(failure) => failures.push(failure),
                Ok(mut answer) => {
                    failures.append(&mut answer.refusals);
                    nodes.push((node, Ok(answer)));
                }
            }
        }
        self.nodes = nodes;
        Failure::all(failures).map_or(Ok(self), Err)
    }

    /// Why nothing is to be done on a server, where another cluster has it.
    pub(crate) fn not_ours(&self, node: &NodeName) -> Option<Failure> {
        let other = self.others.get(node).filter(|_| !self.truth.servers.contains_key(node))?;
        Some(of_another_cluster(node, other))
    }

    /// The last migration that any server needs: those of both kinds have the
    /// same numbers.
    pub(crate) fn latest(&self) -> i32 {
        let answers = self.nodes.iter().filter_map(|(_, answer)| answer.as_ref().ok());
        answers.map(|answer| answer.latest).max().unwrap_or(0)
    }
}

/// Looks at all nodes that tickets have to do with at once, and at the catalog.
///
/// Fails only where the catalog cannot be read.
pub(crate) async fn look(
    file: &ClusterFile,
    task: &str,
    accept_power_loss: bool,
) -> Result<Look, Failure> {
    look_at(file, task, accept_power_loss, &[], &[]).await
}

/// The same, where servers are taken over that another cluster has used.
pub(crate) async fn look_taking(
    file: &ClusterFile,
    task: &str,
    accept_power_loss: bool,
    taken: &[NodeName],
) -> Result<Look, Failure> {
    look_at(file, task, accept_power_loss, &[], taken).await
}

/// The same, also at nodes that are to serve a ticket.
pub(crate) async fn look_also(
    file: &ClusterFile,
    task: &str,
    accept_power_loss: bool,
    also: &[NodeName],
) -> Result<Look, Failure> {
    look_at(file, task, accept_power_loss, also, &[]).await
}

async fn look_at(
    file: &ClusterFile,
    task: &str,
    accept_power_loss: bool,
    also: &[NodeName],
    taken: &[NodeName],
) -> Result<Look, Failure> {
    let mut known = TicketJournal::look(file, task).await?;
    loop {
        cuts::at(format_args!("tickets/look/before-asking"));
        let look = ask_all(file, task, accept_power_loss, (also, taken), known.clone()).await?;
        let doubted = doubted(&look.truth);
        if doubted.is_empty() {
            return Ok(look);
        }
        // Another program may have left a mark there after the catalog was read. It writes it
        // down before that, and no two marks are the same.
        let now = TicketJournal::look(file, task).await?;
        if doubted.iter().all(|node| now.known_servers.get(node) == known.known_servers.get(node)) {
            return Ok(look);
        }
        known = now;
    }
}

/// The servers that seem to be others or restored, by the names that the catalog has for them.
fn doubted(truth: &TicketTruth) -> Vec<NodeName> {
    let found = problems(truth).into_iter().filter_map(|problem| match problem {
        TicketProblem::OldMark(node)
        | TicketProblem::EarlierMark(node)
        | TicketProblem::OldCatalog(node)
        | TicketProblem::OtherServer(node) => Some(node),
        _ => None,
    });
    found
        .map(|node| match truth.renames.iter().find(|rename| rename.to == node) {
            Some(rename) => rename.from.clone(),
            None => node,
        })
        .collect()
}

/// Asks all nodes at once, and puts what they say to what the catalog knows.
async fn ask_all(
    file: &ClusterFile,
    task: &str,
    accept_power_loss: bool,
    (also, taken): (&[NodeName], &[NodeName]),
    mut truth: TicketTruth,
) -> Result<Look, Failure> {
    // Servers that were taken out of the file still serve, until they are removed.
    let mut asked: Vec<NodeName> =
        file.declared.ticket_nodes().map(|node| node.name.clone()).collect();
    let known = truth.known.values().flat_map(|known| known.nodes());
    let known = known.chain(truth.changes.iter().flat_map(|change| change.after.clone()));
    for node in known.chain(also.iter().cloned()).collect::<Vec<_>>() {
        if !asked.contains(&node) && file.addresses.contains_key(&node) {
            asked.push(node);
        }
    }
    let asking = asked
        .iter()
        .map(|node| async move { ask(node, file.address(node)?, task, accept_power_loss).await });
    let mut nodes: Vec<_> = asked.iter().cloned().zip(join_all(asking).await).collect();
    truth.mapped = ShardSet::all(file.declared.shards);
    let mut others = BTreeMap::new();
    for (node, answer) in &mut nodes {
        let Ok(answer) = answer else { continue };
        // Two clusters would each take the mark of the other one for that of a backup. A mark that the catalog knows is
        // its own, whatever the cluster was called then.
        let mark = answer.server.mark.as_ref();
        let is_ours =
            truth.known_servers.values().any(|it| it.marks.iter().any(|of| Some(of) == mark));
        let other = answer.cluster.clone().filter(|of| *of != file.declared.name.as_str());
        let other = other.filter(|_| !is_ours);
        match &other {
            Some(other) if !taken.contains(node) => {
                answer.refusals.push(of_another_cluster(node, other));
            }
            _ => {
                truth.servers.insert(node.clone(), answer.server.clone());
            }
        }
        others.extend(other.map(|other| (node.clone(), other)));
    }
    truth.find_renames(|name| file.declared.node(name).is_some());
    Ok(Look { truth, nodes, others })
}

fn of_another_cluster(node: &NodeName, other: &str) -> Failure {
    Failure::new(format!("node {node} hands out tickets of cluster {other}")).hint(format!(
        "give each cluster ticket servers of its own; where {other} is no more, `shardid apply --restored {node}` takes them over, above all that {node} has handed out"
    ))
}

#[derive(FromRow)]
struct HasRow {
    tickets: bool,
    shards: bool,
}

#[derive(FromRow)]
struct ServerRow {
    identity: String,
    mark: Option<String>,
}

#[derive(FromRow)]
struct TicketRow {
    name: String,
    server: i64,
    servers: i64,
    last: i64,
    floor: i64,
    ceiling: Option<i64>,
    max: i64,
}

impl TicketRow {
    /// Checks what nobody but us should have written.
    ///
    /// A name that no cluster file can have is of nobody's ticket but the server's own.
    fn state(self, node: &NodeName) -> Result<Option<(TicketName, TicketState)>, Failure> {
        let Ok(name) = TicketName::new(&self.name) else { return Ok(None) };
        let wrong = |what: &str| {
            Failure::new(format!("ticket {}: {what}", self.name)).at(format!("node {node}"))
        };
        let class = Class {
            server: u32::try_from(self.server).map_err(|_| wrong("its server is no number"))?,
            servers: u32::try_from(self.servers).map_err(|_| wrong("its servers are no number"))?,
        };
        if class.servers == 0 {
            return Err(wrong("it has no servers"));
        }
        let number = |value: i64| u64::try_from(value).map_err(|_| wrong("a number below 0"));
        let state = TicketState {
            class,
            last: number(self.last)?,
            floor: number(self.floor)?,
            ceiling: self.ceiling.map(number).transpose()?,
            max: number(self.max)?,
        };
        Ok(Some((name, state)))
    }
}

/// The migration that makes the table of segments.
const SEGMENTS_SINCE: i32 = 15;

/// Asks one node, in a transaction that cannot change anything.
async fn ask(
    node: &NodeName,
    address: &Address,
    task: &str,
    accept_power_loss: bool,
) -> Result<Answer, Failure> {
    let mut session = Session::connect(node, address, task).await?;
    session.read_only(node).await?;
    let mut answer = Answer {
        version: "PostgreSQL".to_owned(),
        cluster: None,
        server: TicketServer::default(),
        refusals: Vec::new(),
        latest: 0,
        missing: Vec::new(),
        is_bare: false,
    };
    if let Session::Postgres(connection) = &session
        && let Some(number) = connection.server_version_num()
    {
        answer.version = format!("PostgreSQL {}.{}", number / 10_000, number % 10_000);
    }
    let mut uuid = None;
    if let Session::Mysql(connection) = &mut session {
        let settings = Settings::of(connection, node).await?;
        answer.version = format!("{} {}", settings.flavour(), settings.version());
        answer.refusals = settings.refusals(node, accept_power_loss);
        answer.refusals.append(&mut unsafe_tables(connection, node).await?);
        answer.refusals.append(&mut rights_of_definers(connection, node).await?);
        answer.latest = migrate::latest(&migrate::of_schema());
        let mut done = installed(connection, node, &mut answer.refusals).await?;
        migrate::no_missing_tables(connection, node, done).await?;
        answer
            .refusals
            .append(&mut migrate::tables_that_lost_their_count(connection, node, done).await?);
        if done == answer.latest {
            answer.missing = migrate::wrong_routines(connection, node).await?;
            if !answer.missing.is_empty() || migrate::grants_are_kept(connection, node).await? {
                // What is wrong is made again.
                done -= 1;
            } else {
                let of_another: Vec<(String, String, bool, bool)> =
                    sqlx::query_as(mysql::sql!("look/elsewhere.sql"))
                        .fetch_all(&mut *connection)
                        .await
                        .map_err(|error| mysql::failure(node, &error))?;
                for (what, name, is_taken, is_gapless) in of_another {
                    let by_hand = &mut answer.server.by_hand;
                    match is_taken {
                        true => answer.server.elsewhere = true,
                        false if is_gapless => by_hand.push(ByHand::Gapless(name)),
                        false => by_hand.push(ByHand::NoRoom(format!("{what} {name}"))),
                    }
                }
            }
        }
        if done >= SEGMENTS_SINCE {
            answer.server.segments = sqlx::query_scalar(mysql::sql!("tickets/segments.sql"))
                .fetch_all(&mut *connection)
                .await
                .map_err(|error| mysql::failure(node, &error))?;
        }
        answer.is_bare = done > 0 && migrate::has_no_routines(connection, node).await?;
        if done < answer.latest {
            answer.refusals.extend(settings.no_functions(node));
        }
        answer.refusals.extend(replica(connection, &settings, node).await?);
        answer.server.migration = Some(done);
        uuid = settings.uuid().map(str::to_owned);
    }
    let has: Result<Vec<HasRow>, _> = rows!(&mut session, "tickets/has.sql");
    let has = has.map_err(|error| session.failure(node, &error))?;
    if let Session::Mysql(connection) = &mut session
        && has.first().is_some_and(|has| has.shards)
    {
        let shards: Vec<i64> = sqlx::query_scalar(mysql::sql!("tickets/shards.sql"))
            .fetch_all(connection)
            .await
            .map_err(|error| mysql::failure(node, &error))?;
        answer.server.shards = shards.into_iter().filter_map(|s| Shard::new(s).ok()).collect();
    }
    if has.first().is_some_and(|has| has.tickets) {
        let server: Result<Vec<ServerRow>, _> = match &mut session {
            Session::Postgres(connection) => {
                sqlx::query_as(crate::postgres::sql!("tickets/server.sql"))
                    .fetch_all(connection)
                    .await
            }
            Session::Mysql(connection) => {
                sqlx::query_as(mysql::sql!("tickets/server.sql"))
                    .bind(uuid)
                    .fetch_all(connection)
                    .await
            }
        };
        let server = server.map_err(|error| session.failure(node, &error))?;
        if let Some(row) = server.into_iter().next() {
            answer.server.identity = row.identity;
            answer.cluster = row.mark.as_deref().and_then(marked_by);
            if let Some((mark, notes)) = row.mark.map(|text| marked_with(&text)) {
                (answer.server.mark, answer.server.notes) = (Some(mark), notes);
            }
        }
        let tickets: Result<Vec<TicketRow>, _> = rows!(&mut session, "tickets/tickets.sql");
        let tickets = tickets.map_err(|error| session.failure(node, &error))?;
        answer.server.tickets = tickets
            .into_iter()
            .filter_map(|row| row.state(node).transpose())
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        if let Session::Postgres(connection) = &mut session {
            let names: Vec<String> =
                sqlx::query_scalar(crate::postgres::sql!("tickets/without_sequence.sql"))
                    .fetch_all(connection)
                    .await
                    .map_err(|error| crate::postgres::failure(node, &error))?;
            answer.server.without_sequence =
                names.iter().filter_map(|name| TicketName::new(name).ok()).collect();
        }
    }
    session.close().await;
    Ok(answer)
}

/// The last of our migrations that was run on a MySQL server; one that this
/// program does not know, or knows otherwise, speaks against going on.
async fn installed(
    connection: &mut sqlx::mysql::MySqlConnection,
    node: &NodeName,
    refusals: &mut Vec<Failure>,
) -> Result<i32, Failure> {
    let failed = |error: sqlx::Error| mysql::failure(node, &error);
    let (has, _): (bool, bool) = sqlx::query_as(mysql::sql!("look/has.sql"))
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if !has {
        return Ok(0);
    }
    let run: Vec<(i32, String, String)> = sqlx::query_as(mysql::sql!("look/migrations.sql"))
        .fetch_all(connection)
        .await
        .map_err(failed)?;
    let known = migrate::of_schema();
    for (version, name, checksum) in &run {
        let same = known.iter().any(|migration| {
            *version == migration.version() && *checksum == migration.checksum().to_string()
        });
        if !same {
            refusals.push(
                Failure::new(format!(
                    "migration {version} ({name}) of schema shardid is not one of this program's"
                ))
                .at(format!("node {node}"))
                .hint("use the newest program that this server was changed with"),
            );
        }
    }
    Ok(run.last().map_or(0, |(version, _, _)| *version))
}
