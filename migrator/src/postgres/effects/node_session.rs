//! What is changed on one node: its extension, its shards, its copy of the map, its roles.

use shardid_cluster::{Declared, MapVersion, NodeName, ShardMap, ShardSet};
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::QueryScalar;
use sqlx::{AssertSqlSafe, Postgres};

use crate::failure::Failure;
use crate::postgres::{failure_of_ours, followers, sql, who};

/// How many shards are created in one transaction: each takes a handful of
/// locks, and a server of default size has room for some 6,400.
pub(super) const SHARDS_PER_TRANSACTION: u32 = 64;

/// How long a statement that changes something waits for others.
const LOCK_TIMEOUT: &str = "30s";

/// A connection to a node that is to be changed.
pub(crate) struct NodeSession {
    pub(crate) node: NodeName,
    pub(crate) connection: PgConnection,
}

impl NodeSession {
    /// Bounds the time that changes wait for others, and nothing else: what a
    /// role's settings allow a statement may be too short for a batch of shards. And has
    /// what is committed be on disk: the others have been told of it then.
    pub(crate) async fn bound(&mut self) -> Result<(), Failure> {
        self.run(sqlx::query(sql!("apply/limits.sql")).bind(LOCK_TIMEOUT)).await
    }

    /// `CREATE EXTENSION`, unless somebody was quicker.
    pub(crate) async fn create_extension(&mut self) -> Result<(), Failure> {
        self.run(sqlx::query(sql!("apply/role_path.sql"))).await?;
        self.run(sqlx::query(sql!("apply/create_extension.sql"))).await?;
        self.run(sqlx::query(sql!("session/path.sql"))).await
    }

    /// `ALTER EXTENSION UPDATE`.
    pub(crate) async fn update_extension(&mut self) -> Result<(), Failure> {
        self.run(sqlx::query(sql!("apply/update_extension.sql"))).await
    }

    /// Writes a node into the catalog.
    pub(crate) async fn write_node(
        &mut self,
        node: &NodeName,
        weight: u32,
        identity: &shardid_cluster::Identity,
    ) -> Result<(), Failure> {
        let query = sqlx::query(sql!("apply/write_node.sql"))
            .bind(node.as_str())
            .bind(i32::try_from(weight).expect("weights are at most a million"))
            .bind(identity.system_identifier)
            .bind(identity.database.as_str())
            .bind(who());
        self.run(query).await
    }

    /// Has the node go by another name than before.
    pub(crate) async fn rename_copy(
        &mut self,
        declared: &Declared,
        was: &str,
    ) -> Result<(), Failure> {
        let query = sqlx::query(sql!("apply/rename_copy.sql"))
            .bind(declared.name.as_str())
            .bind(was.to_owned())
            .bind(self.node.as_str().to_owned());
        self.run(query).await
    }

    /// Forgets a node.
    pub(crate) async fn remove_node(&mut self, node: &NodeName) -> Result<(), Failure> {
        let query = sqlx::query_scalar(sql!("apply/remove_node.sql")).bind(node.as_str());
        let removed: Result<Option<String>, _> = query.fetch_optional(&mut self.connection).await;
        match removed.map_err(|error| failure_of_ours(&self.node, &error))? {
            Some(_) => Ok(()),
            // Since the plan was made.
            None => Err(Failure::new(format!("a move has begun to need node {node}"))
                .hint("`shardid moves` shows it; `shardid plan` again")),
        }
    }

    /// Creates shards in batches; `done` hears of each batch.
    pub(crate) async fn create_shards(
        &mut self,
        declared: &Declared,
        shards: &ShardSet,
        mut done: impl FnMut(u32),
    ) -> Result<(), Failure> {
        let mut left = shards.clone();
        while !left.is_empty() {
            let batch = left.take_lowest(SHARDS_PER_TRANSACTION);
            let query = sqlx::query(sql!("apply/create_shards.sql"))
                .bind(batch.to_sql())
                .bind(declared.layout.as_str());
            self.run(query).await?;
            done(batch.len());
        }
        Ok(())
    }

    /// Gives the node its copy of the map, as far as it differs.
    pub(crate) async fn place_shards(
        &mut self,
        declared: &Declared,
        map: &ShardMap,
        version: MapVersion,
        shards: &ShardSet,
    ) -> Result<(), Failure> {
        let mut placed = Vec::new();
        let mut homes = Vec::new();
        for (home, set) in map.nodes() {
            for shard in set.and(shards).iter() {
                placed.push(shard.as_sql());
                homes.push(home.as_str().to_owned());
            }
        }
        let node = self.node.as_str().to_owned();
        let query = sqlx::query(sql!("apply/place_shards.sql"))
            .bind(declared.name.as_str())
            .bind(node)
            .bind(declared.layout.as_str())
            .bind(i32::try_from(declared.shards.get()).expect("checked when the map was written"))
            .bind(version.0)
            .bind(placed)
            .bind(homes);
        self.run(query).await
    }

    /// Lets a node follow this one by a role, which has no secret yet where it is made.
    pub(crate) async fn let_follow(
        &mut self,
        follower: &NodeName,
        role: &str,
    ) -> Result<(), Failure> {
        let looked = followers::look(&mut self.connection).await;
        let (roles, _) = looked.map_err(|error| failure_of_ours(&self.node, &error))?;
        // It may have been made for another database of this server. One that is here and sound is to lose its secret.
        let statements = match roles.get(role) {
            Some(it) if it.sound && !it.here => {
                sqlx::query_scalar(sql!("follow/let_follow_too.sql")).bind(role.to_owned())
            }
            _ => sqlx::query_scalar(sql!("follow/settings.sql", "follow/let_follow.sql"))
                .bind(role.to_owned())
                .bind(follower.as_str().to_owned()),
        };
        self.carry_out(statements).await.map_err(|failure| {
            failure.hint(format!(
                "what it owns would have its rights: `ALTER ROLE \"{role}\" NOLOGIN; ALTER ROLE \"{role}\" RENAME TO ...;` there, then `shardid apply`"
            ))
        })
    }

    /// Drops a role that nobody follows this node by.
    pub(crate) async fn forget_follower(&mut self, role: &str) -> Result<(), Failure> {
        self.carry_out(sqlx::query_scalar(sql!("follow/forget.sql")).bind(role.to_owned())).await
    }

    /// Runs statements that the server has put together, all or none.
    async fn carry_out(
        &mut self,
        query: QueryScalar<'_, Postgres, String, PgArguments>,
    ) -> Result<(), Failure> {
        let node = self.node.clone();
        let failed = |error: sqlx::Error| failure_of_ours(&node, &error);
        let statements = query.fetch_all(&mut self.connection).await.map_err(failed)?;
        // One message is one transaction.
        let text = statements.join(";\n");
        let done = sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.connection).await;
        done.map(|_| ()).map_err(failed)
    }

    pub(super) async fn run<'q>(
        &mut self,
        query: sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>,
    ) -> Result<(), Failure> {
        let done = query.execute(&mut self.connection).await;
        done.map(|_| ()).map_err(|error| failure_of_ours(&self.node, &error))
    }
}
