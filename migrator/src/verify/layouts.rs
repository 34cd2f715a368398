//! Layouts in use that end within a year.

use std::collections::BTreeMap;

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    // A layout ends everywhere at once: one finding for all nodes.
    let mut ending: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for visit in estate.installed() {
        let layouts: Vec<(String, String)> = visit.rows(sql!("verify/layouts.sql")).await?;
        for layout in layouts {
            ending.entry(layout).or_default().push(visit.node.to_string());
        }
    }
    let finding = |((layout, ends), nodes): ((String, String), Vec<String>)| {
        Finding::between(
            format!("layout {layout} ends on {ends}, and is in use on {}", nodes.join(", ")),
            "choose one that lasts longer for new tables: `SELECT name, ends_at FROM shardid.layouts;`",
        )
    };
    Ok(ending.into_iter().map(finding).collect())
}
