//! Reading the rows of a table, whatever its owner has the server do meanwhile.

use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgDatabaseError};

use super::estate::Visit;
use crate::failure::Failure;
use crate::postgres::{failure, hold_table, in_time, sql};

/// Reads a table in a transaction that cannot change anything; none where the name is no table's by now.
pub(super) async fn read<R>(
    visit: &mut Visit,
    table: &str,
    most: Duration,
    query: impl AsyncFnOnce(&mut PgConnection) -> Result<Option<R>, sqlx::Error>,
) -> Result<Option<R>, Failure> {
    let found = in_time::within(most, held(&mut visit.connection, table, most, query)).await;
    if let Some(found) = found {
        let named = |error: sqlx::Error| {
            let said = failure(&visit.node, &error).at(format!("table {table}"));
            match has_hint(&error) {
                true => said.hint("a function of the table's owner may have said that: look at the table as its owner"),
                false => said,
            }
        };
        return found.map_err(named);
    }
    let ended = in_time::end(&visit.node, &visit.address, vec![visit.pid]).await;
    visit.connect_again().await?;
    let late = || {
        Failure::new("what was begun there was not over in time").at(format!("node {}", visit.node))
    };
    Err(ended.unwrap_or_else(late).at(format!("table {table}")))
}

/// Whether the server gives a hint, which stands where a command is that mends: whoever owns the table may have written it.
fn has_hint(error: &sqlx::Error) -> bool {
    let said =
        error.as_database_error().and_then(|said| said.try_downcast_ref::<PgDatabaseError>());
    said.is_some_and(|said| said.hint().is_some())
}

async fn held<R>(
    connection: &mut PgConnection,
    table: &str,
    most: Duration,
    query: impl AsyncFnOnce(&mut PgConnection) -> Result<Option<R>, sqlx::Error>,
) -> Result<Option<R>, sqlx::Error> {
    let mut transaction = connection.begin_with(sql!("look/begin.sql")).await?;
    let limits = sqlx::query(sql!("verify/limits.sql")).bind(most.as_millis().to_string());
    limits.execute(&mut *transaction).await?;
    let found = match hold_table(&mut transaction, table).await? {
        true => query(&mut transaction).await?,
        false => None,
    };
    transaction.rollback().await?;
    Ok(found)
}
