//! What a schema is, by all that the server's catalogs say of its objects: a hash for each.
//! A change of any of them during a move is noticed by it, and named.

use sqlx::AssertSqlSafe;

use super::move_session::{FingerprintQueries, MoveSession};
use crate::failure::Failure;
use crate::postgres::sql;

/// A fingerprint, as the journal keeps it.
pub(super) async fn take(
    server: &mut MoveSession,
    schema: &str,
    publication: &str,
) -> Result<String, Failure> {
    let noted = queries(server).await?.noted;
    let query = sqlx::query_scalar(AssertSqlSafe(noted)).bind(schema).bind(publication);
    let texts: Vec<String> = looking(server, query).await?;
    Ok(texts.concat())
}

/// The objects that are not what they were when a fingerprint was taken, made and dropped ones
/// included; each as the server describes it.
pub(super) async fn changed(
    server: &mut MoveSession,
    schema: &str,
    publication: &str,
    before: &str,
) -> Result<Vec<String>, Failure> {
    let changed = queries(server).await?.changed;
    let query = sqlx::query_scalar(AssertSqlSafe(changed)).bind(schema).bind(publication);
    looking(server, query.bind(before)).await
}

/// Whether a text of the journal is a fingerprint of this kind.
pub(super) fn is_one(text: &str) -> bool {
    text.starts_with('{')
}

async fn queries(server: &mut MoveSession) -> Result<FingerprintQueries, Failure> {
    if server.fingerprint.is_none() {
        let query = sqlx::query_as(sql!(
            "move/carry/physical.sql",
            "move/carry/of_schema.sql",
            "move/carry/fingerprint.sql"
        ));
        server.fingerprint = server.row(query).await?;
    }
    Ok(server.fingerprint.clone().expect("the query gives a row"))
}

/// Runs such a query as it is quick: by indexes, and planned once.
async fn looking(
    server: &mut MoveSession,
    query: sqlx::query::QueryScalar<'_, sqlx::Postgres, String, sqlx::postgres::PgArguments>,
) -> Result<Vec<String>, Failure> {
    server.block(sql!("move/carry/by_index.sql")).await?;
    let rows = server.column(query).await?;
    server.block(sql!("move/carry/as_before.sql")).await?;
    Ok(rows)
}
