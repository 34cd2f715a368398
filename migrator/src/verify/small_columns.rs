//! Columns that take ids and have no room for them.

use super::finding::said_by_owner;
use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let small = estate.columns().filter(|(_, column)| column.type_name != "bigint");
    small
        .map(|(node, column)| {
            Finding::on(
                node,
                format!(
                    "column {} of {} takes ids, and is {}",
                    column.column, column.table, column.type_name
                ),
                said_by_owner(
                    &column.owner,
                    &format!("ALTER TABLE {} ALTER {} TYPE bigint;", column.table, column.column),
                ),
            )
        })
        .collect()
}
