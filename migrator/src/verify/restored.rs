//! Tickets and segments of a server that was restored to an earlier moment, or promoted
//! without the last records.

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    // Those of the cluster file have a check of their own, which compares them with their peers.
    let declared: Vec<String> =
        estate.file.declared.tickets.iter().map(|ticket| ticket.name.to_string()).collect();
    let mut findings = Vec::new();
    for visit in estate.installed() {
        let rows: Vec<(String, String, Option<i64>)> =
            visit.rows(sql!("verify/restored.sql")).await?;
        for (kind, name, last) in rows {
            if kind == "ticket" && declared.contains(&name) {
                continue;
            }
            let last = last.map_or("nothing".to_owned(), |last| last.to_string());
            let literal = name.replace('\'', "''");
            findings.push(Finding::on(
                &visit.node,
                format!("{kind} {name} stands at {last} since the server was restored or promoted, and may have handed out more before"),
                format!("`SELECT shardid.raise_{kind}('{literal}', …);` with a number that is above all it can have given"),
            ));
        }
    }
    Ok(findings)
}
