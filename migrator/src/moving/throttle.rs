//! Holding a move back while the target's standbys, or copies that follow, are far
//! behind: what a move writes makes them later still.

use std::time::Duration;

use super::context::MoveContext;
use super::stop::check_stop;
use crate::failure::Failure;
use crate::postgres::sql;

/// Waits until nobody is further behind than the person at the keyboard allows.
pub(super) async fn hold_back(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let Some(most) = context.options.lag_max_bytes else { return Ok(()) };
    let own = context.record.stream();
    loop {
        let readers: Vec<(String, i64)> =
            context.target.rows(sqlx::query_as(sql!("move/stream/standbys.sql"))).await?;
        let on_target = readers.into_iter().map(|(name, bytes)| (name, bytes, "reads"));
        let query = sqlx::query_as(sql!("move/stream/others.sql")).bind(own.as_str());
        let others: Vec<(String, i64)> = context.source.rows(query).await?;
        let others = others.into_iter().map(|(name, bytes)| (name, bytes, "copies"));
        let last = on_target.chain(others).max_by_key(|(_, bytes, _)| *bytes);
        let Some((name, bytes, how)) = last.filter(|(_, bytes, _)| *bytes > most) else {
            context.progress.clear();
            return Ok(());
        };
        check_stop()?;
        let from = if how == "reads" { &context.target.node } else { &context.source.node };
        let text = format!(
            "held back: {name}, which {how} from {from}, is {} MB behind (limit: {} MB)",
            bytes / 1_000_000,
            most / 1_000_000
        );
        context.progress.at(0.0, &text);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
