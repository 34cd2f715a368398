//! Old copies and fences of which a guard was switched off, or is not there: what is written there is lost with
//! them.

use shardid_cluster::Shard;

use super::finding::quoted;
use super::{Estate, Finding};
use crate::failure::Failure;
use crate::moving::Unguarded;
use crate::postgres::{failure, sql};

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let catalog = estate.file.declared.catalog.clone();
    let is_known = estate.catalog().is_some();
    let keeper = estate.visits.iter_mut().find(|visit| visit.node == catalog);
    let Some(keeper) = keeper.filter(|_| is_known) else { return Ok(Vec::new()) };
    // Other guards are a move's under way, or were left, which is a finding of its own.
    let kept: Vec<(i32, String, String)> = keeper.rows(sql!("verify/kept.sql")).await?;
    // A fence that no move knows is another finding, and taken down.
    let moving = estate.moving_now().await?;
    let mut findings = Vec::new();
    for visit in estate.installed() {
        let copies = kept.iter().filter(|(_, node, _)| node == visit.node.as_str());
        let (shards, schemas): (Vec<i32>, Vec<&str>) =
            copies.map(|(shard, _, schema)| (*shard, schema.as_str())).unzip();
        let query = sqlx::query_as(sql!("move/clean/unguarded.sql")).bind(&schemas).bind(&shards);
        let found: Result<Vec<Unguarded>, _> = query.fetch_all(&mut visit.connection).await;
        for it in found.map_err(|error| failure(&visit.node, &error))? {
            if let Some((what, mend)) = it.renamed() {
                if findings.iter().all(|it: &Finding| it.problem != what) {
                    findings.push(Finding::on(&visit.node, what, quoted(&mend)));
                }
                continue;
            }
            let Unguarded { schema, name, shard, is_missing, mend, .. } = it;
            let is_copy = schemas.contains(&schema.as_str());
            // The shard itself, of which a catalog from a backup does not know: that is another finding.
            let number = Shard::new(shard.into()).ok();
            if is_copy && number.is_some_and(|it| visit.seen.truth.open.contains(it)) {
                continue;
            }
            if !is_copy && !moving.contains(&shard) {
                continue;
            }
            let place = match is_copy {
                true => format!("in the old copy of shard {shard}"),
                false => format!("behind the fence of shard {shard}"),
            };
            let problem = match is_missing {
                false => format!("the guard of {name}, {place}, was switched off"),
                true => format!(
                    "{name}, {place}, has no guard: that was dropped, or the table was made there since"
                ),
            };
            let (loses, first) = match is_copy {
                true => (
                    ", and what somebody has written there goes with the copy",
                    "take that to where the shard lives, then ",
                ),
                false => (", and it takes writes", ""),
            };
            findings.push(Finding::on(
                &visit.node,
                format!("{problem}{loses}"),
                format!("{first}{}", quoted(&mend)),
            ));
        }
    }
    Ok(findings)
}
