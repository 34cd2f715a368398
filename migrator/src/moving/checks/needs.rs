//! What a shard's schema needs of the server it is to go to.

use shardid_cluster::{Shard, is_own_role};

use crate::failure::Failure;
use crate::moving::move_session::MoveSession;
use crate::moving::problem::{Problem, failures_of};
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

/// A role, what it may do anywhere on its server, and whether it owns part of a shard itself.
type Power = (String, String, bool);

/// What the schema of a shard needs, as its server knows it.
pub(super) async fn needs(
    source: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<Needs, Failure> {
    let query = sqlx::query_as(sql!("move/closure.sql", "move/check/needs.sql")).bind(schema);
    let needs: Vec<(String, String, Option<String>)> = source.rows(query).await?;
    let (kinds, names, homes): (Vec<String>, Vec<String>, _) = needs.into_iter().collect();
    let layouts: Vec<(String, String, String)> =
        source.rows(sqlx::query_as(sql!("move/check/layouts.sql")).bind(shard.as_sql())).await?;
    let owners = owners(source, schema).await?;
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

/// The roles that own anything of a schema, all of which can be told from each other in a list of contents.
async fn owners(server: &mut MoveSession, schema: &str) -> Result<Vec<String>, Failure> {
    let query = sqlx::query_as(sql!("move/closure.sql", "move/check/owners.sql")).bind(schema);
    let owners: Vec<(String, bool)> = server.rows(query).await?;
    if let Some((role, _)) = owners.iter().find(|(_, is_plain)| !is_plain) {
        return Err(Failure::new(format!(
            "role {role:?}, which owns part of the shard, has a line break or \"; \" in its name"
        ))
        .at(format!("node {}", server.node))
        .hint("rename it"));
    }
    Ok(owners.into_iter().map(|(role, _)| role).collect())
}

/// Refuses to leave on the target what was made there for roles that may do more than on the source: an owner may have
/// changed since that was asked.
pub(in crate::moving) async fn check_owners(
    source: &mut MoveSession,
    target: &mut MoveSession,
    schema: &str,
) -> Result<(), Failure> {
    let owners = owners(target, schema).await?;
    let here = powers(source, &owners).await?;
    let there = powers(target, &owners).await?;
    Failure::all(failures_of(&target.node, gained(&here, &there))).map_or(Ok(()), Err)
}

/// What roles may do on the target alone. Who is a superuser on both may do everything on both, whatever it owns.
fn gained(here: &[Power], there: &[Power]) -> Vec<Problem> {
    let is_superuser = |powers: &[Power], role: &str| {
        powers.iter().any(|(other, power, _)| other == role && power == SUPERUSER)
    };
    let is_gained = |power: &&Power| {
        !(here.contains(power) || is_superuser(here, &power.0) && is_superuser(there, &power.0))
    };
    there.iter().filter(is_gained).map(more_powerful).collect()
}

/// As powers.sql says it, and of a superuser nothing else.
const SUPERUSER: &str = "is a superuser";

async fn powers(server: &mut MoveSession, roles: &[String]) -> Result<Vec<Power>, Failure> {
    server.rows(sqlx::query_as(sql!("move/check/powers.sql")).bind(roles.to_vec())).await
}

/// Of a role of the same name that may do more: whoever has it on the one server may not have it on the other.
fn more_powerful((role, power, owns): &Power) -> Problem {
    let who = match owns {
        true => format!("role {role}, which owns part of the shard,"),
        false if role == "PUBLIC" => "everybody".to_owned(),
        false => format!("role {role}, of which who owns part of the shard is a member,"),
    };
    (
        format!("{who} {power} here, and not where the shard is"),
        "a function of that owner could do that here: give what it owns to another role, or have the role be the same on both".into(),
    )
}

/// What of that a server has not.
pub(super) async fn target_problems(
    target: &mut MoveSession,
    needs: Needs,
) -> Result<Vec<Problem>, Failure> {
    let query = sqlx::query_as(sql!("move/check/has.sql"));
    let own: Vec<String> = needs.names.iter().filter(|name| is_own_role(name)).cloned().collect();
    let query = query.bind(needs.kinds).bind(needs.names).bind(needs.homes).bind(own);
    let mut problems: Vec<Problem> = target.rows(query).await?;
    let query = sqlx::query_as(sql!("move/check/has_layouts.sql"))
        .bind(needs.layouts)
        .bind(needs.rules)
        .bind(needs.hints);
    problems.extend(target.rows(query).await?);
    let there = powers(target, &needs.owners).await?;
    problems.extend(gained(&needs.powers, &there));
    Ok(problems)
}
