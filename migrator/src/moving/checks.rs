//! Everything that can refuse a move, looked at before anything is made.

use std::collections::{BTreeMap, BTreeSet};

use shardid_cluster::{MoveKind, NodeName, PlannedMove, Shard};

use super::capacity::{self, Pace};
use super::clean;
use super::fence::Home;
use super::journal::Journal;
use super::login;
use super::preflight;
use super::road::Road;
use super::schema;
use super::server::Server;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{commits_wait, ids, sql};
use crate::talk;

mod earlier;
mod needs;

use earlier::{is_old_copy_at, old_copies, standing};
use needs::{needs, target_problems};

/// Something that stands in the way, and the command that helps.
type Problem = (String, String);

#[derive(sqlx::FromRow, PartialEq)]
struct Facts {
    major: i32,
    /// Which database this is.
    identity: String,
    shardid: Option<String>,
    extension_schema: Option<String>,
    encoding: String,
    collation: String,
}

/// What a node says of the cluster that it belongs to.
#[derive(sqlx::FromRow)]
struct Member {
    name: String,
    node: String,
    layout: String,
    shards: i64,
    map_version: i64,
}

/// What was found of moves that may be made.
pub(crate) struct Checked {
    /// The shards' schemas.
    pub(crate) schemas: BTreeMap<Shard, String>,
    /// The highest number of a move that something on the nodes is named after: a catalogue
    /// from an older backup has drawn it before, and may not know it.
    pub(crate) highest_number: i64,
}

/// Checks all planned moves at once and says everything that is in the way.
/// Returns the schema of each shard.
///
/// Whether the servers reach each other is only found by trying, in a transaction
/// that is rolled back: not in a dry run, which begins none.
pub(crate) async fn check_all(
    file: &ClusterFile,
    moves: &[PlannedMove],
    dry_run: bool,
    pace: Pace,
) -> Result<Checked, Failure> {
    let journal = Journal::look(file).await?.list(i64::MAX).await?;
    let mut servers: BTreeMap<NodeName, Server> = BTreeMap::new();
    let mut bare: BTreeSet<NodeName> = BTreeSet::new();
    let mut failures: Vec<Failure> = moves.iter().filter_map(|m| standing(&journal, m)).collect();
    // What is found on the nodes of those is the work of the move that stands.
    let free: Vec<_> = moves.iter().filter(|m| standing(&journal, m).is_none()).cloned().collect();
    for planned in &free {
        for node in [&planned.source, &planned.target] {
            if !servers.contains_key(node) && !bare.contains(node) {
                let mut server = Server::look(file, node).await?;
                check_commits(&mut server).await?;
                let problems = server_problems(&mut server).await?;
                failures.extend(said(node, problems));
                failures.extend(said(node, not_of_cluster(&mut server, file).await?));
                if has_extension(&mut server).await? {
                    servers.insert(node.clone(), server);
                } else {
                    bare.insert(node.clone());
                }
            }
        }
    }
    // On those there is nothing more to look at.
    let known = |m: &&PlannedMove| !bare.contains(&m.source) && !bare.contains(&m.target);
    let free: Vec<_> = free.iter().filter(known).cloned().collect();
    let moves = free.as_slice();
    let mut compared = Vec::new();
    let mut schemas = BTreeMap::new();
    for planned in moves {
        let pair = (planned.source.clone(), planned.target.clone());
        if !compared.contains(&pair) {
            failures.extend(compare(&mut servers, &planned.source, &planned.target).await?);
            let (source, target) = (&planned.source, &planned.target);
            failures.extend(follow(&mut servers, target, source, dry_run).await?);
            if pace.way_back {
                failures.extend(follow(&mut servers, source, target, dry_run).await?);
            }
            compared.push(pair);
        }
        let source = servers.get_mut(&planned.source).expect("connected above");
        let (home, problems) = shard_problems(source, planned.shard).await?;
        failures.extend(said(&planned.source, problems));
        let Some(home) = home else { continue };
        stays_behind(source, planned.shard, &home.schema).await?;
        let needs = needs(source, planned.shard, &home.schema).await?;
        let target = servers.get_mut(&planned.target).expect("connected above");
        let by_owners = applies_by_owners(target).await?;
        let source = servers.get_mut(&planned.source).expect("connected above");
        failures.extend(said(&planned.source, appliers(source, by_owners, &home.schema).await?));
        let target = servers.get_mut(&planned.target).expect("connected above");
        let copies = old_copies(&journal, planned);
        let there = journal.iter().any(|m| is_old_copy_at(m, planned));
        failures.extend(copies);
        let mut problems = target_problems(target, needs).await?;
        // The schema of an old copy is known by its move.
        if !there {
            problems.extend(room(target, &home.schema).await?);
        }
        failures.extend(said(&planned.target, problems));
        schemas.insert(planned.shard, home.schema);
    }
    failures.extend(capacity::missing(file, &mut servers, moves, pace).await?);
    failures.extend(preflight::room(&mut servers, moves).await?);
    if dry_run {
        talk::line(
            "not tried: whether the servers reach each other, since that takes a transaction",
        );
    }
    let mut highest_number = 0;
    for server in servers.values_mut() {
        let query = sqlx::query_scalar(sql!("move/check/numbers.sql"));
        highest_number = server.column(query).await?.into_iter().fold(highest_number, i64::max);
    }
    Failure::all(failures).map_or(Ok(Checked { schemas, highest_number }), Err)
}

/// Whether a node can follow another: as far as that can be seen, or by trying.
async fn follow(
    servers: &mut BTreeMap<NodeName, Server>,
    from: &NodeName,
    to: &NodeName,
    dry_run: bool,
) -> Result<Option<Failure>, Failure> {
    let mut from = servers.remove(from).expect("the caller has connected");
    let to = servers.get_mut(to).expect("the caller has connected");
    let outcome = match superuser(&mut from).await? && superuser(to).await? {
        // That is said already, and takes what only one may see.
        false => Ok(None),
        true => match login::missing(&mut from, to).await? {
            None if !dry_run => preflight::reach(&mut from, to).await,
            missing => Ok(missing),
        },
    };
    servers.insert(from.node.clone(), from);
    outcome
}

async fn superuser(server: &mut Server) -> Result<bool, Failure> {
    let query = sqlx::query_scalar(sql!("follow/superuser.sql"));
    Ok(server.column::<bool>(query).await? == [true])
}

/// The same for one move that is written down already.
pub(super) async fn check_again(road: &mut Road<'_>) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for server in [&mut road.source, &mut road.target] {
        check_commits(server).await?;
        let problems = not_of_cluster(server, road.file).await?;
        failures.extend(said(&server.node, problems));
    }
    if !failures.is_empty() {
        return Failure::all(failures).map_or(Ok(()), Err);
    }
    if road.record.kind == MoveKind::Copy {
        failures.extend(said(&road.source.node.clone(), server_problems(&mut road.source).await?));
        failures.extend(said(&road.target.node.clone(), server_problems(&mut road.target).await?));
        let way_back = road.record.way_back;
        let missing =
            capacity::missing_for_one(&mut road.source, &mut road.target, way_back).await?;
        failures.extend(missing);
        let by_owners = applies_by_owners(&mut road.target).await?;
        let problems = appliers(&mut road.source, by_owners, &road.record.schema).await?;
        failures.extend(said(&road.source.node, problems));
        let needs = needs(&mut road.source, road.record.shard, &road.record.schema).await?;
        let mut problems = target_problems(&mut road.target, needs).await?;
        problems.extend(room(&mut road.target, &road.record.schema).await?);
        failures.extend(said(&road.target.node, problems));
    }
    if road.record.kind == MoveKind::Rollback {
        clean::check_new_copy(&mut road.source, &road.record).await?;
        for what in schema::not_carried_back(road).await? {
            road.say(format_args!(
                "not carried back from {}: {what} differs on {}",
                road.source.node, road.target.node
            ));
        }
    }
    let (_, problems) = shard_problems(&mut road.source, road.record.shard).await?;
    failures.extend(said(&road.source.node, problems));
    if let Some(seconds) = oldest_transaction(&mut road.source).await? {
        road.say(format_args!(
            "a transaction on {} has been open for {seconds} s: the copy begins when it ends",
            road.source.node
        ));
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

/// For how many seconds the oldest transaction has been open that a new slot has
/// to wait for; none where there is none of more than ten.
pub(super) async fn oldest_transaction(server: &mut Server) -> Result<Option<i64>, Failure> {
    let old: Option<(i64, i64)> = server.row(sqlx::query_as(sql!("move/check/old.sql"))).await?;
    Ok(old.and_then(|(count, seconds)| (count > 0).then_some(seconds)))
}

fn said(node: &NodeName, problems: Vec<Problem>) -> Vec<Failure> {
    let failure =
        |(problem, hint): Problem| Failure::new(problem).at(format!("node {node}")).hint(hint);
    problems.into_iter().map(failure).collect()
}

/// Refuses at once what would wait for ever at its first commit.
async fn check_commits(server: &mut Server) -> Result<(), Failure> {
    match commits_wait(&server.node, &mut server.connection).await? {
        None => Ok(()),
        Some(why) => Err(Failure::new(why).at(format!("node {}", server.node)).hint(
            "start the standby, or take it out: ALTER SYSTEM SET synchronous_standby_names = '…'; SELECT pg_reload_conf();",
        )),
    }
}

async fn server_problems(server: &mut Server) -> Result<Vec<Problem>, Failure> {
    server.rows(sqlx::query_as(sql!("move/check/server.sql"))).await
}

async fn has_extension(server: &mut Server) -> Result<bool, Failure> {
    let query = sqlx::query_scalar(sql!("move/check/has_extension.sql"));
    Ok(server.column::<bool>(query).await? == [true])
}

/// Refuses to lay hands on a move where a node knows a newer map than the catalogue, or is not the
/// one that the cluster file names: what the journal says of it is not so, and the copy that is to
/// be dropped by it may be the shard.
pub(super) async fn check_member(server: &mut Server, file: &ClusterFile) -> Result<(), Failure> {
    let problems = not_of_cluster(server, file).await?;
    Failure::all(said(&server.node.clone(), problems)).map_or(Ok(()), Err)
}

/// Why a node cannot be told of a new map: the `apply` that gives it its first copy was cut
/// off, or it is another node. All moves tell both nodes, after they have switched.
async fn not_of_cluster(server: &mut Server, file: &ClusterFile) -> Result<Vec<Problem>, Failure> {
    if !has_extension(server).await? {
        let hint = "`shardid apply` installs it".to_owned();
        return Ok(vec![("the extension shardid is missing".to_owned(), hint)]);
    }
    let member: Option<Member> = server.row(sqlx::query_as(sql!("move/check/member.sql"))).await?;
    // Only now: another move may bring a newer map here at any time, but writes it there first.
    let map = ids::map(file).await?;
    let declared = &file.declared;
    let problem = match member {
        None => "it has no copy of the map yet".to_owned(),
        Some(it) if it.name != declared.name.as_str() || it.node != server.node.as_str() => {
            format!("it is node {} of cluster {}", it.node, it.name)
        }
        Some(it)
            if it.layout != declared.layout.as_str()
                || it.shards != i64::from(declared.shards.get()) =>
        {
            format!("its copy of the map is one of {} shards of layout {}", it.shards, it.layout)
        }
        Some(it) if it.map_version > map.version.0 => format!(
            "its copy of the map has version {}, and the catalogue has {}",
            it.map_version, map.version
        ),
        Some(_) => return Ok(Vec::new()),
    };
    let hint = "`shardid plan` shows what is to be done, `shardid apply` does it";
    Ok(vec![(problem, hint.to_owned())])
}

async fn applies_by_owners(server: &mut Server) -> Result<bool, Failure> {
    let query = sqlx::query_scalar(sql!("move/check/by_owners.sql"));
    Ok(server.column::<bool>(query).await? == [true])
}

/// Tables whose owners could not apply what comes, if it is they who do.
async fn appliers(
    source: &mut Server,
    by_owners: bool,
    schema: &str,
) -> Result<Vec<Problem>, Failure> {
    match by_owners {
        true => source.rows(sqlx::query_as(sql!("move/check/appliers.sql")).bind(schema)).await,
        false => Ok(Vec::new()),
    }
}

async fn compare(
    servers: &mut BTreeMap<NodeName, Server>,
    source: &NodeName,
    target: &NodeName,
) -> Result<Vec<Failure>, Failure> {
    let mut facts = Vec::new();
    for node in [source, target] {
        let server = servers.get_mut(node).expect("the caller has connected");
        let found: Option<Facts> = server.row(sqlx::query_as(sql!("move/check/facts.sql"))).await?;
        facts.extend(found);
    }
    let [from, to] = facts.as_slice() else { return Ok(Vec::new()) };
    let mut failures = Vec::new();
    if from.identity == to.identity {
        let failure = Failure::new(format!("nodes {source} and {target} are one database"));
        return Ok(vec![
            failure.hint("each node needs a database of its own: look at their `url`"),
        ]);
    }
    let dump = super::dumped::dump_version().await?;
    if dump < from.major {
        failures.push(
            Failure::new(format!(
                "pg_dump is here of version {dump}, and cannot read node {source} of version {}",
                from.major
            ))
            .hint(format!(
                "install the client programs of PostgreSQL {}, or name their pg_config in PG_CONFIG",
                from.major
            )),
        );
    }
    let mut differ = |what: &str, here: &str, there: &str, hint: &str| {
        failures.push(
            Failure::new(format!("{what} is {here} on node {source} and {there} on node {target}"))
                .hint(hint),
        );
    };
    let none = || "missing".to_owned();
    if to.major < from.major {
        let (here, there) = (from.major.to_string(), to.major.to_string());
        differ("PostgreSQL", &here, &there, "move to a node of the same version or a later one");
    }
    if from.shardid != to.shardid {
        let (here, there) =
            (from.shardid.clone().unwrap_or_else(none), to.shardid.clone().unwrap_or_else(none));
        differ("the extension shardid", &here, &there, "`shardid apply` brings all to one version");
    }
    if from.extension_schema != to.extension_schema {
        let here = from.extension_schema.clone().unwrap_or_else(none);
        let there = to.extension_schema.clone().unwrap_or_else(none);
        differ("the schema of the extension", &here, &there, "install it in the same schema");
    }
    if from.encoding != to.encoding {
        differ("the encoding", &from.encoding, &to.encoding, "use a database of the same encoding");
    }
    if from.collation != to.collation {
        talk::line(format_args!(
            "  note: the collation is {} on {source} and {} on {target}: texts may sort differently",
            from.collation, to.collation
        ));
    }
    Ok(failures)
}

async fn shard_problems(
    source: &mut Server,
    shard: Shard,
) -> Result<(Option<Home>, Vec<Problem>), Failure> {
    let query = sqlx::query_as(sql!("move/journal/schema_of.sql")).bind(shard.as_sql());
    let Some(home) = source.row::<Home>(query).await? else {
        let problem = format!("shard {shard} has no sequence here, although the map has it here");
        return Ok((None, vec![(problem, "see what is wrong with `shardid plan`".into())]));
    };
    let mut problems: Vec<Problem> = Vec::new();
    if home.state != "open" {
        problems.push((
            format!("shard {shard} is {}, not open", home.state),
            "`shardid moves` shows whether a move of it is standing".into(),
        ));
    }
    let query = sqlx::query_as(sql!("move/check/generators.sql"));
    problems.extend(source.rows(query.bind(shard.as_sql()).bind(home.schema.as_str())).await?);
    for query in [
        sql!("move/check/identity.sql"),
        sql!("move/check/kinds.sql"),
        sql!("move/closure.sql", "move/check/border.sql"),
    ] {
        problems.extend(source.rows(sqlx::query_as(query).bind(home.schema.as_str())).await?);
    }
    Ok((Some(home), problems))
}

/// Says what of a schema is not carried, and what works without it.
async fn stays_behind(source: &mut Server, shard: Shard, schema: &str) -> Result<(), Failure> {
    let query = sqlx::query_scalar(sql!("move/closure.sql", "move/check/not_carried.sql"));
    for what in source.column::<String>(query.bind(schema)).await? {
        talk::line(format_args!("  note: shard {shard}: {what} on {}", source.node));
    }
    Ok(())
}

/// Whether the target has room for the schema.
async fn room(target: &mut Server, schema: &str) -> Result<Vec<Problem>, Failure> {
    target.rows(sqlx::query_as(sql!("move/check/room.sql")).bind(schema)).await
}
