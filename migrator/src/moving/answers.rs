//! Is a node gone, or does its database still answer?

use shardid_cluster::{Identity, NodeName};

use super::member::{has_extension, identity, member};
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{ids, sql};

/// Databases that a server has whatever else it has, from which one may look for others.
const ALWAYS_THERE: [&str; 2] = ["postgres", "template1"];

/// Refuses to take a node for gone whose database, as the catalog knows it, is there. `instead` is what
/// to do without `--gone`.
pub(super) async fn check_gone(
    file: &ClusterFile,
    node: &NodeName,
    instead: &str,
) -> Result<(), Failure> {
    // One that nobody can look at may be well, and have the shard open.
    if file.address(node).is_err() {
        return Err(Failure::new(format!(
            "node {node} is not taken for gone: it is not in the cluster file, and nobody can look whether it answers"
        ))
        .hint(format!(
            "put [nodes.{node}] back with the address that it had, then run the same command again"
        )));
    }
    let (catalog, _) = ids::catalog(file).await?;
    let answers = || Failure::new(format!("node {node} answers")).hint(instead);
    match MoveSession::look(file, node).await {
        Ok(mut server) => {
            let identity = identity(&mut server).await?;
            catalog.another_database(node, &identity).map_or_else(|| Err(answers()), |_| Ok(()))
        }
        Err(failure) if failure.is_answer() => Err(answers()),
        Err(failure) if failure.is_of_no_database() => match catalog.nodes.get(node) {
            Some(known) => look_for_database(file, node, &known.identity, instead).await,
            None => Ok(()),
        },
        Err(_) => Ok(()),
    }
}

/// Refuses where a server says that it has no database of the name in the cluster file, and has the one
/// that the catalog knows all the same: by a name that the file has not, or renamed since.
async fn look_for_database(
    file: &ClusterFile,
    node: &NodeName,
    known: &Identity,
    instead: &str,
) -> Result<(), Failure> {
    let mut why = Vec::new();
    let said =
        |failure: &Failure| failure.messages().map(|(m, _)| m.to_owned()).collect::<Vec<_>>();
    let mut server = None;
    for name in ALWAYS_THERE {
        match MoveSession::look_in(file, node, name).await {
            Ok(found) => {
                server = Some(found);
                break;
            }
            Err(failure) => why.extend(said(&failure)),
        }
    }
    let Some(mut server) = server else { return Err(unknown(node, &why)) };
    why.clear();
    if identity(&mut server).await?.system_identifier != known.system_identifier {
        // Whatever that has, it says nothing of the one that is meant.
        return Err(Failure::new(format!(
            "node {node} is not taken for gone: another server answers at its address, and has no such database"
        ))
        .hint(format!(
            "correct `url` of node {node}, then {instead}; where its server is gone for good, give an address at which nothing answers, and run the same command again"
        )));
    }
    let is_here = |name: &str| {
        Failure::new(format!("node {node} is not gone: its server has its database, as {name}"))
            .hint(format!("correct `url` of node {node}, then {instead}"))
    };
    let databases: Vec<String> =
        server.column(sqlx::query_scalar(sql!("move/check/databases.sql"))).await?;
    if databases.contains(&known.database) {
        return Err(is_here(&known.database));
    }
    for name in &databases {
        match names_itself(file, node, name).await {
            Ok(true) => return Err(is_here(name)),
            Ok(false) => {}
            Err(failure) => why.extend(said(&failure)),
        }
    }
    if why.is_empty() { Ok(()) } else { Err(unknown(node, &why)) }
}

/// Whether a database of a server says that it is this node of this cluster.
async fn names_itself(
    file: &ClusterFile,
    node: &NodeName,
    database: &str,
) -> Result<bool, Failure> {
    let mut server = MoveSession::look_in(file, node, database).await?;
    let it = match has_extension(&mut server).await? {
        true => member(&mut server).await?,
        false => None,
    };
    Ok(it.is_some_and(|it| it.name == file.declared.name.as_str() && it.node == node.as_str()))
}

/// A database may have been renamed to one that cannot be looked into.
fn unknown(node: &NodeName, why: &[String]) -> Failure {
    let failure = Failure::new(format!(
        "node {node} is not taken for gone: its server answers, and may have its database by another name"
    ));
    why.iter().fold(failure, Failure::detail).hint(format!(
        "let the role in `url` of node {node} connect to each database of that server, then run the same command again"
    ))
}
