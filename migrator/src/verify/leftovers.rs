//! Slots, publications, subscriptions and fences that no move knows.

use std::collections::BTreeSet;

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    // Without the journal nobody can tell what is left over.
    if estate.catalog().is_none() {
        return Ok(Vec::new());
    }
    let catalog = estate.file.declared.catalog.clone();
    // The objects first: a move that begins meanwhile writes its line before it
    // makes anything, so that whatever was seen is in the journal by then.
    let mut seen = Vec::new();
    for visit in estate.installed() {
        let objects: Vec<(String, String, String)> = visit.rows(sql!("verify/objects.sql")).await?;
        seen.push((visit.node.clone(), objects));
    }
    let mut known: BTreeSet<(String, String, String)> = BTreeSet::new();
    if let Some(keeper) = estate.visits.iter_mut().find(|visit| visit.node == catalog) {
        known.extend(keeper.rows(sql!("verify/known_objects.sql")).await?);
    }
    let mut findings = Vec::new();
    for (node, objects) in seen {
        for (kind, name, mend) in objects {
            if known.contains(&(node.to_string(), kind.clone(), name.clone())) {
                continue;
            }
            let what = match kind.as_str() {
                "fence" => format!("a fence stands around schema {name}"),
                _ => format!("{kind} {name} is left over"),
            };
            findings.push(Finding::on(
                &node,
                format!("{what}, and no move knows it"),
                format!("`{mend}`"),
            ));
        }
    }
    Ok(findings)
}
