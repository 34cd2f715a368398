//! The journal of moves in the catalog: read, written before each effect.

use std::collections::BTreeMap;

use shardid_cluster::{
    LeftoverKind, Lineage, MapVersion, MoveEvent, MoveKind, MoveState, NodeName, Origin, Shard,
    UnknownWord, Whole, next_state,
};
use sqlx::{Connection, Postgres, Transaction};

use super::move_session::MoveSession;
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::effects::publish;
use crate::postgres::{failure, sql, who};

mod claim;
mod failures;
mod record;

use failures::no_such_step;
pub(super) use failures::{older_catalog, overtaken};
use record::MoveRow;
pub(crate) use record::{Leftover, Move, WholeRow, lineage};

/// The catalog, for as long as a session lasts.
pub(crate) struct MoveJournal {
    pub(crate) server: MoveSession,
    /// The move that is worked on, and the term by which.
    claim: Option<(i64, i64)>,
}

impl MoveJournal {
    /// Connects to the catalog.
    pub(crate) async fn open(file: &ClusterFile) -> Result<Self, Failure> {
        Ok(Self { server: MoveSession::connect(file, &file.declared.catalog).await?, claim: None })
    }

    /// Connects to the catalog to look: the server forbids a change.
    pub(crate) async fn look(file: &ClusterFile) -> Result<Self, Failure> {
        Ok(Self { server: MoveSession::look(file, &file.declared.catalog).await?, claim: None })
    }

    /// Has further moves get numbers above one that a node knows: what is named after that one
    /// is of another move, and must not be taken up.
    pub(crate) async fn number_above(&mut self, highest: i64) -> Result<(), Failure> {
        let query = sqlx::query_scalar(sql!("move/journal/numbers_end.sql")).bind(highest);
        if self.server.column::<bool>(query).await? == [true] {
            return Ok(());
        }
        let node = self.server.node.clone();
        let failed = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(failed)?;
        let hold = sqlx::query(sql!("move/journal/hold_all.sql"));
        hold.execute(&mut *transaction).await.map_err(failed)?;
        let raise = sqlx::query(sql!("move/journal/raise_numbers.sql")).bind(highest);
        raise.execute(&mut *transaction).await.map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }

    /// Writes a move down. Somebody else's move of the shard is in the way.
    #[allow(clippy::too_many_arguments)]
    pub(crate) async fn plan(
        &mut self,
        shard: Shard,
        source: &NodeName,
        target: &NodeName,
        rollback_of: Option<i64>,
        schema: &str,
        way_back: bool,
    ) -> Result<i64, Failure> {
        let kind = rollback_of.map_or(MoveKind::Copy, |_| MoveKind::Rollback);
        cuts::at(format_args!("plan/before"));
        let query = sqlx::query_scalar(sql!("move/journal/plan.sql"))
            .bind(shard.as_sql())
            .bind(source.as_str())
            .bind(target.as_str())
            .bind(kind.as_str())
            .bind(rollback_of)
            .bind(schema)
            .bind(way_back)
            .bind(who());
        match query.fetch_optional(&mut self.server.connection).await {
            Ok(Some(id)) => Ok(id),
            Ok(None) => {
                if self.home_of(shard).await?.as_ref() != Some(source) {
                    return Err(Failure::new(format!("shard {shard} is not on {source} any more"))
                        .hint("`shardid map` shows where each shard is"));
                }
                let known = sqlx::query_scalar(sql!("move/journal/is_node.sql"));
                if self.server.column::<bool>(known.bind(target.as_str())).await? == [false] {
                    return Err(Failure::new(format!("the catalog has no node {target}"))
                        .hint("`shardid apply` has it join, or gives it its new name"));
                }
                let earlier = rollback_of.unwrap_or_default();
                Err(Failure::new(format!("the old copy of move {earlier} is not there any more"))
                    .hint(format!("`shardid move {shard} --to {target}` takes it back")))
            }
            Err(error) if crate::postgres::is_sqlstate(&error, "23505") => {
                Err(Failure::new(format!("shard {shard} is already being moved"))
                    .hint("`shardid moves` shows it, with what can be done"))
            }
            Err(error) if crate::postgres::is_sqlstate(&error, "42703") => {
                Err(older_catalog(&self.server.node))
            }
            Err(error) => Err(failure(&self.server.node, &error)),
        }
    }

    /// A move by its number.
    pub(crate) async fn read(&mut self, id: i64) -> Result<Move, Failure> {
        let row: Option<MoveRow> =
            self.server.row(sqlx::query_as(sql!("move/journal/read.sql")).bind(id)).await?;
        row.ok_or_else(|| {
            Failure::new(format!("there is no move {id}")).hint("`shardid moves` lists them")
        })?
        .try_into()
    }

    /// Moves, the latest last; of those that are over only the last `over_max`.
    pub(crate) async fn list(&mut self, over_max: i64) -> Result<Vec<Move>, Failure> {
        let rows: Vec<MoveRow> =
            self.server.rows(sqlx::query_as(sql!("move/journal/list.sql")).bind(over_max)).await?;
        rows.into_iter().map(Move::try_from).collect()
    }

    /// Where the map has a shard.
    pub(crate) async fn home_of(&mut self, shard: Shard) -> Result<Option<NodeName>, Failure> {
        let query = sqlx::query_scalar(sql!("move/journal/home_of.sql")).bind(shard.as_sql());
        let home: Vec<String> = self.server.column(query).await?;
        let named = |home: &String| {
            NodeName::new(home).map_err(|error| Failure::new(error).at("the map in the catalog"))
        };
        home.first().map(named).transpose()
    }

    /// How long moves were in each state, in milliseconds and order.
    pub(crate) async fn log(
        &mut self,
        moves: &[Move],
    ) -> Result<BTreeMap<i64, Vec<(String, i64)>>, Failure> {
        let ids: Vec<i64> = moves.iter().map(|m| m.id).collect();
        let rows: Vec<(i64, String, i64)> =
            self.server.rows(sqlx::query_as(sql!("move/journal/log.sql")).bind(ids)).await?;
        let mut log: BTreeMap<i64, Vec<(String, i64)>> = BTreeMap::new();
        for (id, state, ms) in rows {
            log.entry(id).or_default().push((state, ms));
        }
        Ok(log)
    }

    /// Takes a move to the state that follows an event, from the one that the record has,
    /// if the catalog still has that. The switch places the shard in the map by the same
    /// transaction.
    pub(crate) async fn advance(
        &mut self,
        record: &mut Move,
        event: MoveEvent,
    ) -> Result<(), Failure> {
        let next = next_state(record.kind, record.state, event)
            .map_err(|refusal| no_such_step(record, &refusal))?;
        let (_, term) = self.claimed_as()?;
        let node = self.server.node.clone();
        let waiter = self.server.waiter.clone();
        let failed = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(failed)?;
        let moved: Option<i64> = sqlx::query_scalar(sql!("move/journal/advance.sql"))
            .bind(record.id)
            .bind(record.state.as_str())
            .bind(next.as_str())
            .bind(term)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed)?;
        if moved.is_none() {
            return Err(overtaken(record.id));
        }
        let home = if next == MoveState::Switched { &record.source } else { &record.target };
        let there = match (next, event) {
            (MoveState::Switched, _) => switch(&mut transaction, record).await.map_err(failed)?,
            (_, MoveEvent::GoBack) => go_back(&mut transaction, record).await.map_err(failed)?,
            _ => true,
        };
        if !there {
            return Err(Failure::new(format!(
                "the map does not have shard {} on node {home} any more",
                record.shard
            )));
        }
        // It may wait for a synchronous standby.
        let (committed, _) = waiter.over(transaction.commit()).await;
        committed.map_err(failed)?;
        record.was_switched |= next == MoveState::Switched;
        record.state = next;
        Ok(())
    }

    /// Notes what the tables looked like when they were copied.
    pub(crate) async fn note_shape(&mut self, id: i64, shape: &str) -> Result<(), Failure> {
        self.note(sqlx::query(sql!("move/journal/shape.sql")).bind(id).bind(shape)).await
    }

    /// Notes from which position of the target on the old copy is to follow.
    pub(crate) async fn note_seal(
        &mut self,
        id: i64,
        seal: &str,
        of: Lineage,
    ) -> Result<(), Failure> {
        let query = sqlx::query(sql!("move/journal/seal.sql")).bind(id).bind(seal);
        self.note(query.bind(of.system_identifier).bind(i64::from(of.timeline))).await
    }

    /// Notes what the source is, from which the copy is about to begin.
    pub(crate) async fn note_origin(&mut self, id: i64, origin: Origin) -> Result<(), Failure> {
        let query = sqlx::query(sql!("move/journal/origin.sql"))
            .bind(id)
            .bind(origin.of.system_identifier)
            .bind(i64::from(origin.of.timeline))
            .bind(i64::from(origin.database));
        self.note(query).await
    }

    /// Notes what the target is, now that it has all rows, and what the source's sequences are bound by.
    pub(crate) async fn note_whole(
        &mut self,
        id: i64,
        whole: Whole,
        rules: &str,
    ) -> Result<(), Failure> {
        let query = sqlx::query(sql!("move/journal/whole.sql"))
            .bind(id)
            .bind(whole.of.system_identifier)
            .bind(i64::from(whole.of.timeline))
            .bind(i64::from(whole.database))
            .bind(whole.position.cast_signed())
            .bind(rules);
        self.note(query).await
    }

    /// Notes that the target is about to be opened.
    pub(crate) async fn note_opening(&mut self, record: &mut Move) -> Result<(), Failure> {
        self.note(sqlx::query(sql!("move/journal/opening.sql")).bind(record.id)).await?;
        record.opening = true;
        Ok(())
    }

    /// Notes that the source was found open after the switch.
    pub(crate) async fn note_reopened(&mut self, record: &mut Move) -> Result<(), Failure> {
        self.note(sqlx::query(sql!("move/journal/reopened.sql")).bind(record.id)).await?;
        record.reopened = true;
        Ok(())
    }

    /// The version of the map that placed a shard where it is.
    pub(crate) async fn version_of(&mut self, shard: Shard) -> Result<i64, Failure> {
        let query = sqlx::query_scalar(sql!("move/journal/version_of.sql")).bind(shard.as_sql());
        let version = self.server.column(query).await?;
        version.first().copied().ok_or_else(|| Failure::new(format!("shard {shard} has no place")))
    }

    /// Notes an object before it is made.
    pub(crate) async fn leave(
        &mut self,
        id: i64,
        node: &NodeName,
        kind: LeftoverKind,
        name: &str,
    ) -> Result<(), Failure> {
        let query = sqlx::query(sql!("move/journal/leave.sql"))
            .bind(id)
            .bind(node.as_str())
            .bind(kind.as_str())
            .bind(name);
        self.note(query).await?;
        cuts::at(format_args!("left/{kind}"));
        Ok(())
    }

    /// What a move has left, the last made first.
    pub(crate) async fn leftovers(&mut self, id: i64) -> Result<Vec<Leftover>, Failure> {
        let query = sqlx::query_as(sql!("move/journal/leftovers.sql")).bind(id);
        let rows: Vec<(i64, String, String, String)> = self.server.rows(query).await?;
        let left = |(leftover, node, kind, name): (i64, String, String, String)| {
            let wrong = |what: String| {
                Failure::new(what).at(format!("leftover {leftover} of move {id} in the journal"))
            };
            Ok(Leftover {
                leftover,
                node: NodeName::new(&node).map_err(|e| wrong(e.to_string()))?,
                kind: kind.parse().map_err(|e: UnknownWord| wrong(e.to_string()))?,
                name,
            })
        };
        rows.into_iter().map(left).collect()
    }

    /// Notes that an object is gone.
    pub(crate) async fn removed(&mut self, left: &Leftover) -> Result<(), Failure> {
        cuts::at(format_args!("gone/{}", left.kind));
        self.note(sqlx::query(sql!("move/journal/removed.sql")).bind(left.leftover)).await
    }

    /// Writes down that the old copy of a move is being dropped; false where it is gone
    /// back to.
    pub(crate) async fn begin_retire(&mut self, id: i64) -> Result<bool, Failure> {
        let (_, term) = self.claimed_as()?;
        let node = self.server.node.clone();
        let failed = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(failed)?;
        sqlx::query(sql!("move/journal/hold_alone.sql"))
            .bind(id)
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
        let begun: Option<i64> = sqlx::query_scalar(sql!("move/journal/begin_retire.sql"))
            .bind(id)
            .bind(term)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        Ok(begun.is_some())
    }

    /// Notes that the old copy of a move is gone.
    pub(crate) async fn retired(&mut self, id: i64) -> Result<(), Failure> {
        self.note(sqlx::query(sql!("move/journal/retired.sql")).bind(id)).await
    }
}

/// Places the shard of a move on its target, with what is written down of a new map; false
/// where the map does not have it on the source.
async fn switch(
    transaction: &mut Transaction<'_, Postgres>,
    record: &Move,
) -> Result<bool, sqlx::Error> {
    let placed = place(transaction, record, &record.source, &record.target).await?;
    let Some(version) = placed else { return Ok(false) };
    for statement in [sql!("move/journal/switch_keep.sql"), sql!("move/journal/switch_leave.sql")] {
        sqlx::query(statement)
            .bind(record.id)
            .bind(record.source.as_str())
            .bind(record.target.as_str())
            .bind(record.schema.as_str())
            .execute(&mut **transaction)
            .await?;
    }
    let Move { id, shard, source, target, .. } = record;
    let change = format!("move {id}: shard {shard} from {source} to {target}");
    publish(transaction, MapVersion(version), &change).await?;
    Ok(true)
}

/// Places the shard of a switched move on its source again; false where the map does not have it on
/// the target.
async fn go_back(
    transaction: &mut Transaction<'_, Postgres>,
    record: &Move,
) -> Result<bool, sqlx::Error> {
    let Move { id, shard, source, target, schema, .. } = record;
    let placed = place(transaction, record, target, source).await?;
    let Some(version) = placed else { return Ok(false) };
    let keep = sqlx::query(sql!("move/journal/back_keep.sql"));
    let keep = keep.bind(id).bind(source.as_str()).bind(schema.as_str());
    keep.execute(&mut **transaction).await?;
    let leave = sqlx::query(sql!("move/journal/back_leave.sql")).bind(id);
    let leave = leave.bind(source.as_str()).bind(target.as_str()).bind(schema.as_str());
    leave.execute(&mut **transaction).await?;
    let change = format!("move {id}: shard {shard} back to {source}, for {target} has lost rows");
    publish(transaction, MapVersion(version), &change).await?;
    Ok(true)
}

/// Places the shard of a move on another node in a new version of the map, which is returned; none where
/// the map does not have it where it was.
async fn place(
    transaction: &mut Transaction<'_, Postgres>,
    record: &Move,
    from: &NodeName,
    to: &NodeName,
) -> Result<Option<i64>, sqlx::Error> {
    let version: i64 = sqlx::query_scalar(sql!("move/journal/switch_catalog.sql"))
        .fetch_one(&mut **transaction)
        .await?;
    let placed = sqlx::query(sql!("move/journal/switch_map.sql"))
        .bind(record.shard.as_sql())
        .bind(from.as_str())
        .bind(to.as_str())
        .bind(version)
        .execute(&mut **transaction)
        .await?;
    Ok((placed.rows_affected() == 1).then_some(version))
}
