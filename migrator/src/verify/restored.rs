//! Tickets and segments of a server that was restored to an earlier moment, or promoted
//! without the last records.

use super::finding::{literal, quoted};
use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    // Those of the cluster file are raised above what the catalog and their peers know.
    let declared: Vec<String> =
        estate.file.declared.tickets.iter().map(|ticket| ticket.name.to_string()).collect();
    let mut findings = Vec::new();
    for visit in estate.installed() {
        let rows: Vec<(String, String, Option<i64>)> =
            visit.rows(sql!("verify/restored.sql")).await?;
        for (kind, name, last) in rows {
            let last = last.map_or("nothing".to_owned(), |last| last.to_string());
            let raise = format!("SELECT shardid.raise_{kind}({}, …);", literal(&name));
            findings.push(Finding::on(
                &visit.node,
                format!("{kind} {name} stands at {last} since the server was restored or promoted, and may have handed out more before"),
                match kind == "ticket" && declared.contains(&name) {
                    true => format!("`shardid apply --restored {}`", visit.node),
                    false => format!("{} with a number that is above all it can have given", quoted(&raise)),
                },
            ));
        }
    }
    Ok(findings)
}
