//! Columns in a shard's schema that take ids of another shard.

use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let foreign = estate.columns().filter(|(_, column)| column.is_foreign());
    foreign
        .map(|(node, column)| {
            Finding::on(
                node,
                format!(
                    "column {} of {} takes ids of shard {}, in the schema of shard {}",
                    column.column, column.table, column.shard, column.homes[0]
                ),
                format!(
                    "`ALTER TABLE {} ALTER {} SET DEFAULT {};`",
                    column.table, column.column, column.own_default
                ),
            )
        })
        .collect()
}
