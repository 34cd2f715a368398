//! Nodes without the extension, with an older one than the others, or with it in another schema.

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let installed = |visit: &super::estate::Visit| visit.seen.truth.extension.installed.clone();
    let newest = estate.visits.iter().filter_map(installed).max();
    let mut findings = Vec::new();
    for visit in &estate.visits {
        let problem = match (&visit.seen.truth.extension.installed, &newest) {
            (None, _) => "has no extension shardid".to_owned(),
            (Some(here), Some(newest)) if here < newest => {
                format!("has extension version {here}, and other nodes have {newest}")
            }
            _ => continue,
        };
        findings.push(Finding::on(&visit.node, problem, "`shardid apply`"));
    }
    let mut schemas = Vec::new();
    for visit in estate.installed() {
        let found: Vec<(String,)> = visit.rows(sql!("verify/extension_schema.sql")).await?;
        schemas.extend(found.into_iter().map(|(schema,)| (visit.node.clone(), schema)));
    }
    // Definitions name the functions by it, so that no shard can go from one to the other.
    if let Some((first, schema)) = schemas.first() {
        let others = schemas.iter().filter(|(_, other)| other != schema);
        findings.extend(others.map(|(node, other)| {
            Finding::between(
                format!("the extension is in schema {schema} on node {first} and in schema {other} on node {node}: no shard moves between them"),
                "make it in the same schema where no shards are yet: CREATE EXTENSION shardid SCHEMA ...; new shards go there",
            )
        }));
    }
    Ok(findings)
}
