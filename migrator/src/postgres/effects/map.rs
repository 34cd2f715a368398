//! Changes of the map in the catalog: each one transaction, with a version, a line in the
//! history, and word to those who listen.

use shardid_cluster::{Declared, Identity, MapVersion, Rename, ShardMap};
use sqlx::{Connection, Postgres, Transaction};

use super::node_session::NodeSession;
use crate::failure::Failure;
use crate::postgres::{failure_of_ours, sql, who};

impl NodeSession {
    /// Writes the cluster and its first map.
    pub(crate) async fn write_map(
        &mut self,
        declared: &Declared,
        map: &ShardMap,
    ) -> Result<(), Failure> {
        let change = format!("spread {} shards: {}", declared.shards, homes(map));
        let shards = shard_count(declared)?;
        let (name, layout) = (declared.name.as_str(), declared.layout.as_str());
        self.change_map(map.version, &change, async |transaction| {
            let written: Option<i64> = sqlx::query_scalar(sql!("apply/write_cluster.sql"))
                .bind(name)
                .bind(layout)
                .bind(shards)
                .bind(map.version.0)
                .fetch_optional(&mut **transaction)
                .await?;
            if written.is_some() {
                place(transaction, map).await?;
            }
            Ok(written.is_some())
        })
        .await
    }

    /// Writes cluster and map in place of what is in the catalog, and ends what its journal
    /// says that nobody can tell any more.
    pub(crate) async fn rebuild_map(
        &mut self,
        declared: &Declared,
        map: &ShardMap,
    ) -> Result<(), Failure> {
        let change = format!("taken from the nodes: {}", homes(map));
        let shards = shard_count(declared)?;
        let (name, layout) = (declared.name.as_str(), declared.layout.as_str());
        self.change_map(map.version, &change, async |transaction| {
            let written: Option<(i64, i64)> = sqlx::query_as(sql!("apply/rebuild_cluster.sql"))
                .bind(name)
                .bind(layout)
                .bind(shards)
                .bind(map.version.0)
                .bind(map.version.term_begins())
                .fetch_optional(&mut **transaction)
                .await?;
            if written.is_some() {
                place(transaction, map).await?;
                let ended = sqlx::query(sql!("apply/rebuild_journal.sql"));
                ended.execute(&mut **transaction).await?;
            }
            Ok(written.is_some())
        })
        .await
    }

    /// Has a catalog of the cluster that this node keeps, if it keeps one, be none: another
    /// one takes over from it. Refuses where it has unfinished moves; whoever would begin one
    /// finds no shard in its map from then on.
    pub(crate) async fn close_catalog(&mut self, declared: &Declared) -> Result<(), Failure> {
        let node = self.node.clone();
        let failed = |error: sqlx::Error| failure_of_ours(&node, &error);
        let is_there: bool = sqlx::query_scalar(sql!("apply/other_catalog.sql"))
            .fetch_one(&mut self.connection)
            .await
            .map_err(failed)?;
        if !is_there {
            return Ok(());
        }
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        let hold = sqlx::query(sql!("move/journal/hold_all.sql"));
        hold.execute(&mut *transaction).await.map_err(failed)?;
        let unfinished: Vec<i64> = sqlx::query_scalar(sql!("apply/unfinished.sql"))
            .bind(declared.name.as_str())
            .fetch_all(&mut *transaction)
            .await
            .map_err(failed)?;
        if let Some(first) = unfinished.first() {
            let list: Vec<String> = unfinished.iter().map(i64::to_string).collect();
            return Err(Failure::new(format!(
                "node {node} keeps a catalog of cluster {} with unfinished moves: {}",
                declared.name,
                list.join(", ")
            ))
            .hint(format!(
                "with `catalog = \"{node}\"` in the cluster file, `shardid resume {first}` or `shardid abort {first}`; then rebuild"
            )));
        }
        let close = sqlx::query(sql!("apply/close_catalog.sql")).bind(declared.name.as_str());
        close.execute(&mut *transaction).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }

    /// Gives a node another name.
    pub(crate) async fn rename_node(
        &mut self,
        rename: &Rename,
        identity: &Identity,
        version: MapVersion,
    ) -> Result<(), Failure> {
        let Rename { from, to } = rename;
        let node = self.node.clone();
        let moved_between: bool = sqlx::query_scalar(sql!("apply/moved_between.sql"))
            .bind(from.as_str())
            .bind(to.as_str())
            .fetch_one(&mut self.connection)
            .await
            .map_err(|error| failure_of_ours(&node, &error))?;
        if moved_between {
            return Err(Failure::new(format!(
                "node {from} cannot become {to}: the journal has moves between it and an earlier node {to}"
            ))
            .hint("give it a name that it has moved nothing to or from; the journal keeps those of removed nodes"));
        }
        let mut renamed = false;
        let done = self
            .change_map(version, &format!("node {from} is called {to}"), async |transaction| {
                let number: Option<i64> = sqlx::query_scalar(sql!("apply/rename_node.sql"))
                    .bind(from.as_str())
                    .bind(to.as_str())
                    .bind(identity.system_identifier)
                    .bind(identity.database.as_str())
                    .fetch_optional(&mut **transaction)
                    .await?;
                renamed = number.is_some();
                let now: i64 = sqlx::query_scalar(sql!("move/journal/switch_catalog.sql"))
                    .fetch_one(&mut **transaction)
                    .await?;
                Ok(renamed && now == version.0)
            })
            .await;
        match done {
            Err(_) if !renamed => Err(Failure::new(format!(
                "node {from} cannot become {to}: a move or a change of ticket servers works on it"
            ))
            .hint(format!(
                "put [nodes.{from}] back; `shardid moves` and `shardid tickets status` show what is unfinished"
            ))),
            done => done,
        }
    }

    /// Makes a change that leads to a version of the map, all or nothing; `change` says
    /// whether it still does.
    async fn change_map(
        &mut self,
        version: MapVersion,
        words: &str,
        change: impl AsyncFnOnce(&mut Transaction<'_, Postgres>) -> Result<bool, sqlx::Error>,
    ) -> Result<(), Failure> {
        let node = self.node.clone();
        let failed = |error: sqlx::Error| failure_of_ours(&node, &error);
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        if !change(&mut transaction).await.map_err(failed)? {
            return Err(Failure::new(format!(
                "the map was changed by somebody else while version {version} was being written"
            ))
            .hint("look again with `shardid plan`"));
        }
        publish(&mut transaction, version, words).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }
}

fn shard_count(declared: &Declared) -> Result<i32, Failure> {
    i32::try_from(declared.shards.get()).map_err(|_| {
        Failure::new(format!("{} shards are more than the catalog can hold", declared.shards))
    })
}

/// `pg1 32, pg2 32`.
fn homes(map: &ShardMap) -> String {
    let homes: Vec<String> =
        map.nodes().map(|(home, shards)| format!("{home} {}", shards.len())).collect();
    homes.join(", ")
}

/// Places all shards of a map.
async fn place(
    transaction: &mut Transaction<'_, Postgres>,
    map: &ShardMap,
) -> Result<(), sqlx::Error> {
    for (home, shards) in map.nodes() {
        sqlx::query(sql!("apply/write_map.sql"))
            .bind(home.as_str())
            .bind(shards.to_sql())
            .bind(map.version.0)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

/// Writes down who has changed the map and how, and tells those who listen.
pub(crate) async fn publish(
    transaction: &mut Transaction<'_, Postgres>,
    version: MapVersion,
    change: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(sql!("apply/write_history.sql"))
        .bind(version.0)
        .bind(who())
        .bind(change.to_owned())
        .execute(&mut **transaction)
        .await?;
    sqlx::query(sql!("apply/notify.sql")).bind(version.0).execute(&mut **transaction).await?;
    Ok(())
}
