//! What a shard's schema needs of the server it is to go to.

use shardid_cluster::Shard;

use crate::failure::Failure;
use crate::moving::move_session::MoveSession;
use crate::moving::problem::Problem;
use crate::postgres::sql;

/// What a schema needs that is not in it.
pub(super) struct Needs {
    /// Roles, tablespaces and extensions.
    kinds: Vec<String>,
    names: Vec<String>,
    /// The schemas of extensions.
    homes: Vec<Option<String>>,
    layouts: Vec<String>,
    rules: Vec<String>,
    hints: Vec<String>,
}

/// What the schema of a shard needs, as its server knows it.
pub(super) async fn needs(
    source: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<Needs, Failure> {
    let query = sqlx::query_as(sql!("move/closure.sql", "move/check/needs.sql")).bind(schema);
    let needs: Vec<(String, String, Option<String>)> = source.rows(query).await?;
    let (kinds, names, homes) = needs.into_iter().collect();
    let layouts: Vec<(String, String, String)> =
        source.rows(sqlx::query_as(sql!("move/check/layouts.sql")).bind(shard.as_sql())).await?;
    let mut needs =
        Needs { kinds, names, homes, layouts: Vec::new(), rules: Vec::new(), hints: Vec::new() };
    for (layout, rule, hint) in layouts {
        needs.layouts.push(layout);
        needs.rules.push(rule);
        needs.hints.push(hint);
    }
    Ok(needs)
}

/// What of that a server has not.
pub(super) async fn target_problems(
    target: &mut MoveSession,
    needs: Needs,
) -> Result<Vec<Problem>, Failure> {
    let query = sqlx::query_as(sql!("move/check/has.sql"));
    let query = query.bind(needs.kinds).bind(needs.names).bind(needs.homes);
    let mut problems: Vec<Problem> = target.rows(query).await?;
    let query = sqlx::query_as(sql!("move/check/has_layouts.sql"))
        .bind(needs.layouts)
        .bind(needs.rules)
        .bind(needs.hints);
    problems.extend(target.rows(query).await?);
    Ok(problems)
}
