//! What ids has a shard given elsewhere, where it is opened?

use shardid_cluster::{Shard, Whole};

use super::ahead::descent;
use super::home::{Home, is_open};
use super::journal::Move;
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::sql;

/// What is known, where a shard is opened, of the ids that it has given on other nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// How far they went was carried over from behind the fence, and none were given since.
    Carried,
    /// None were, since the shard was closed here.
    None,
    /// Some may have been, ahead of the clock, by a node that does not tell any more.
    Lost,
}

/// An id sequence: schema, name and layout.
pub(super) type IdSequence = (String, String, String);

/// What is known of a shard's generators where it was.
pub(super) struct Generators {
    /// The name of the shard's sequence.
    pub(super) sequence: String,
    pub(super) id_sequences: Vec<IdSequence>,
    /// The layouts of those that were dropped, with what their ids are not above.
    pub(super) dropped: Vec<(String, Option<i64>)>,
    /// Statements by which its sequences go on that are at their end where it is opened.
    pub(super) rules: Vec<String>,
}

impl Generators {
    /// What a node knows of them that had the shard.
    pub(super) async fn of(server: &mut MoveSession, shard: Shard) -> Result<Self, Failure> {
        let home = Home::of(server, shard).await?;
        let sequence = home.map_or("shard_id_seq".to_owned(), |home| home.sequence);
        let shard = shard.as_sql();
        let id_sequences = sqlx::query_as(sql!("move/carry/id_sequences.sql")).bind(shard);
        let id_sequences = server.rows(id_sequences).await?;
        let dropped = sqlx::query_as(sql!("move/carry/dropped_id_sequences.sql")).bind(shard);
        let dropped = server.rows(dropped).await?;
        Ok(Self { sequence, id_sequences, dropped, rules: Vec::new() })
    }
}

impl Elsewhere {
    /// Where the target of a move is opened, before that is noted. One that was to be opened before may have been, and
    /// have lost that: it is another server then, or on another timeline.
    pub(super) async fn of_target(
        target: &mut MoveSession,
        record: &Move,
    ) -> Result<Self, Failure> {
        if record.whole.is_some() && !record.opening {
            return Ok(Self::Carried);
        }
        if is_open(target, record.shard).await? {
            return Ok(Self::Carried);
        }
        let now = descent(target).await?.descent;
        let same = |whole: Whole| (whole.of, whole.database) == (now.now, now.database);
        Ok(if record.whole.is_some_and(same) { Self::Carried } else { Self::Lost })
    }

    /// Where the source of a move that was switched is opened again. What an earlier program has switched does not
    /// say whether the target was opened.
    pub(super) fn of_source(record: &Move) -> Self {
        match record.whole.is_some() && !record.opening {
            true => Self::None,
            false => Self::Lost,
        }
    }

    /// Statements by which the generators of a shard that is closed go on above what they have given elsewhere, before
    /// it is opened.
    pub(super) async fn go_on(
        self,
        server: &mut MoveSession,
        file: &ClusterFile,
        record: &Move,
        known: &Generators,
    ) -> Result<Vec<String>, Failure> {
        let (shard, layout) = (record.shard.as_sql(), file.declared.layout.as_str());
        let mut statements = known.rules.clone();
        if self == Self::Carried {
            return Ok(statements);
        }
        if self == Self::Lost {
            let lost = sqlx::query_scalar(sql!("move/sequence/lost.sql")).bind(shard);
            statements.extend(server.column::<String>(lost.bind(layout)).await?);
        }
        let own = (record.schema.clone(), known.sequence.clone(), layout.to_owned());
        for (schema, sequence, layout) in [&own].into_iter().chain(&known.id_sequences) {
            let go_on = sqlx::query_scalar(sql!("move/sequence/go_on.sql"))
                .bind(shard)
                .bind(schema.as_str())
                .bind(sequence.as_str())
                .bind(layout.as_str());
            let go_on: Vec<String> = server.column(go_on).await?;
            if go_on.is_empty() && *sequence == own.1 {
                return Err(no_sequence(server, record, sequence));
            }
            statements.extend(go_on);
        }
        Ok(statements)
    }
}

/// Refuses to open a shard whose sequence is not there.
pub(super) async fn check_sequence(
    server: &mut MoveSession,
    record: &Move,
    sequence: &str,
) -> Result<(), Failure> {
    let is_there = sqlx::query_scalar(sql!("move/sequence/is_there.sql"));
    let is_there = is_there.bind(record.schema.clone()).bind(sequence.to_owned());
    match server.column::<bool>(is_there).await? == [true] {
        true => Ok(()),
        false => Err(no_sequence(server, record, sequence)),
    }
}

/// What is to be done where the sequence of a shard that is to be opened is gone.
pub(super) fn no_sequence(server: &MoveSession, record: &Move, sequence: &str) -> Failure {
    let Move { schema, shard, .. } = record;
    Failure::new(format!(
        "there is no sequence {schema}.{sequence}, from which shard {shard} would give ids"
    ))
    .at(format!("node {}", server.node))
    .hint(format!(
        "give the shard's sequence that name there, and another one that has it another name, then run the same command again; where nothing of the shard is there, restore schema {schema} from a backup first; where it was dropped, or to go on with an empty shard, say `CREATE SCHEMA IF NOT EXISTS {schema}; CREATE SEQUENCE {schema}.{sequence};`"
    ))
    .standing()
}
