//! Old copies whose guard was switched off: what is written there is lost with them.

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let catalog = estate.file.declared.catalog.clone();
    let is_known = estate.catalog().is_some();
    let keeper = estate.visits.iter_mut().find(|visit| visit.node == catalog);
    let Some(keeper) = keeper.filter(|_| is_known) else { return Ok(Vec::new()) };
    // Other guards are a move's under way, or were left, which is a finding of its own.
    let kept: Vec<(i32, String, String)> = keeper.rows(sql!("verify/kept.sql")).await?;
    let mut findings = Vec::new();
    for visit in estate.installed() {
        let off: Vec<(String, String, String)> =
            visit.rows(sql!("move/clean/unguarded.sql")).await?;
        for (schema, name, mend) in off {
            let mut copies = kept.iter().filter(|(_, node, _)| node == visit.node.as_str());
            let copy = copies.find(|(_, _, of)| *of == schema);
            findings.extend(copy.map(|(shard, ..)| {
                Finding::on(
                    &visit.node,
                    format!("the guard of {name}, in the old copy of shard {shard}, was switched off, and what somebody has written there goes with the copy"),
                    format!("take that to where the shard lives, then `{mend}`"),
                )
            }));
        }
    }
    Ok(findings)
}
