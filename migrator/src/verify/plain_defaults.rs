//! Primary keys in a shard's schema that count by themselves, as `serial` does.

use sqlx::FromRow;

use super::finding::said_by_owner;
use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

#[derive(FromRow)]
struct Key {
    table: String,
    column: String,
    own_default: String,
    shard: i32,
    identity: bool,
    small: bool,
    owner: String,
}

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for visit in estate.installed() {
        let keys: Vec<Key> = visit.rows(sql!("verify/plain_defaults.sql")).await?;
        findings.extend(keys.iter().map(|key| Finding::on(&visit.node, problem(key), mend(key))));
    }
    Ok(findings)
}

fn problem(key: &Key) -> String {
    let Key { table, column, shard, .. } = key;
    let how = if key.identity { "is an identity" } else { "takes nextval()" };
    format!(
        "primary key {column} of {table} {how}, so other shards have the same numbers as shard {shard}"
    )
}

fn mend(key: &Key) -> String {
    let Key { table, column, own_default, .. } = key;
    let identity =
        if key.identity { format!("ALTER {column} DROP IDENTITY, ") } else { String::new() };
    let size = if key.small { format!("ALTER {column} TYPE bigint, ") } else { String::new() };
    let statement =
        format!("ALTER TABLE {table} {identity}{size}ALTER {column} SET DEFAULT {own_default};");
    said_by_owner(&key.owner, &statement)
}
