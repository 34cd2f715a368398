//! What a move needs of both nodes, whichever shard it is.

use std::collections::BTreeMap;

use shardid_cluster::NodeName;

use crate::failure::Failure;
use crate::moving::dumped::dump_version;
use crate::moving::move_session::MoveSession;
use crate::moving::problem::Problem;
use crate::moving::{clocks, login, preflight};
use crate::postgres::{commits_wait, sql};
use crate::talk;

/// Refuses at once what would wait for ever at its first commit.
pub(super) async fn check_commits(server: &mut MoveSession) -> Result<(), Failure> {
    match commits_wait(&server.node, &mut server.connection).await? {
        None => Ok(()),
        Some(why) => Err(Failure::new(why).at(format!("node {}", server.node)).hint(
            "start the standby, or take it out: ALTER SYSTEM SET synchronous_standby_names = '…'; SELECT pg_catalog.pg_reload_conf();",
        )),
    }
}

/// What a node is not that takes part in a move.
pub(super) async fn server_problems(server: &mut MoveSession) -> Result<Vec<Problem>, Failure> {
    server.rows(sqlx::query_as(sql!("move/check/server.sql"))).await
}

/// Whether a node can follow another: as far as that can be seen, or by trying.
pub(super) async fn follow(
    servers: &mut BTreeMap<NodeName, MoveSession>,
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

/// Whether we are a superuser there.
pub(super) async fn superuser(server: &mut MoveSession) -> Result<bool, Failure> {
    let query = sqlx::query_scalar(sql!("follow/superuser.sql"));
    Ok(server.column::<bool>(query).await? == [true])
}

/// Whether shards can be moved from one node to the other, by what both are.
pub(super) async fn compare(
    servers: &mut BTreeMap<NodeName, MoveSession>,
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
    if from.identity == to.identity {
        let failure = Failure::new(format!("nodes {source} and {target} are one database"));
        return Ok(vec![
            failure.hint("each node needs a database of its own: look at their `url`"),
        ]);
    }
    let mut failures = Vec::new();
    let dump = dump_version().await?;
    // It reads the one, and says of both whether they are the same.
    let (node, newest) =
        if to.major > from.major { (target, to.major) } else { (source, from.major) };
    if dump < newest {
        failures.push(
            Failure::new(format!("pg_dump {dump} cannot dump node {node} (PostgreSQL {newest})"))
                .hint(format!(
                    "install the client programs of PostgreSQL {newest}, or name their pg_config in PG_CONFIG"
                )),
        );
    }
    failures.extend(differences(from, to, source, target));
    let mut from_node = servers.remove(source).expect("the caller has connected");
    let to_node = servers.get_mut(target).expect("the caller has connected");
    let behind = clocks::behind(&mut from_node, to_node).await;
    let ahead = clocks::far_ahead(&mut from_node, to_node).await;
    servers.insert(source.clone(), from_node);
    failures.extend(behind?);
    failures.extend(ahead?);
    if from.collation != to.collation {
        talk::line(format_args!(
            "  note: the collation is {} on {source} and {} on {target}: texts may sort differently",
            from.collation, to.collation
        ));
    }
    Ok(failures)
}

/// What of two nodes has to be the same, and is not.
fn differences(from: &Facts, to: &Facts, source: &NodeName, target: &NodeName) -> Vec<Failure> {
    let mut failures = Vec::new();
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
    failures
}

/// What two nodes are compared by.
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
