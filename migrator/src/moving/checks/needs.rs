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
    /// Who owns anything of it.
    owners: Vec<String>,
    /// What these may do where the schema is.
    powers: Vec<Power>,
}

/// A role, and what it may do anywhere on its server.
type Power = (String, String);

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
    let owners = sqlx::query_scalar(sql!("move/closure.sql", "move/check/owners.sql")).bind(schema);
    let owners: Vec<String> = source.column(owners).await?;
    let powers = powers(source, &owners).await?;
    let (layouts_needed, rules, hints) = (Vec::new(), Vec::new(), Vec::new());
    let mut needs =
        Needs { kinds, names, homes, layouts: layouts_needed, rules, hints, owners, powers };
    for (layout, rule, hint) in layouts {
        needs.layouts.push(layout);
        needs.rules.push(rule);
        needs.hints.push(hint);
    }
    Ok(needs)
}

async fn powers(server: &mut MoveSession, roles: &[String]) -> Result<Vec<Power>, Failure> {
    server.rows(sqlx::query_as(sql!("move/check/powers.sql")).bind(roles.to_vec())).await
}

/// Of a role of the same name that may do more: whoever has it on the one server may not have it on the other.
fn more_powerful((role, power): &Power) -> Problem {
    (
        format!("role {role}, which owns part of the shard, {power} here, and not where the shard is"),
        "a function that it owns could do that here: give what it owns to another role, or have the role be the same on both".into(),
    )
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
    let there = powers(target, &needs.owners).await?;
    problems.extend(there.iter().filter(|power| !needs.powers.contains(power)).map(more_powerful));
    Ok(problems)
}
