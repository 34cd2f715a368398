//! Taking down the fences around shards that no move is going to open.

use shardid_cluster::{NodeName, Shard, ShardSet};

use super::fence::{AGAIN, lower_shard};
use super::journal::{Journal, older_catalog};
use super::server::{Server, Term};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{failure, is_sqlstate, sql};

/// Opens shards on the node where they live, each by itself.
///
/// The fence may be one of a program that still runs, for a journal that is lost or of an older
/// time than the map. So each shard is claimed for a new term, as by a move, and whatever that
/// program does later is refused.
pub(crate) async fn open_shards(
    file: &ClusterFile,
    node: &NodeName,
    shards: &ShardSet,
) -> Result<(), Failure> {
    // The locks of the shards are of this session: until its end no move begins to work on one.
    let mut journal = Journal::open(file).await?;
    let mut server = Server::connect(file, node).await?;
    let mut failures = Vec::new();
    for shard in shards.iter() {
        if let Err(failure) = open(&mut journal, &mut server, shard).await {
            failures.push(failure);
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn open(journal: &mut Journal, server: &mut Server, shard: Shard) -> Result<(), Failure> {
    journal.lock(shard).await?;
    // Since the plan was made.
    let query = sqlx::query_scalar(sql!("move/journal/is_free.sql"));
    let free = query.bind(shard.as_sql()).bind(server.node.as_str());
    if journal.server.column::<bool>(free).await? != [true] {
        return Err(Failure::new(format!("a move has begun to work on shard {shard}"))
            .hint("`shardid moves` shows it, with what can be done"));
    }
    let mut number = draw_term(journal, 0).await?;
    loop {
        cuts::at(format_args!("open/before-claim"));
        let known = server.claim(Term { shard, number }).await?;
        if known == number {
            break;
        }
        // The catalogue is older than the node.
        number = draw_term(journal, known).await?;
    }
    cuts::at(format_args!("open/claimed"));
    let query = sqlx::query_as(sql!("move/journal/schema_of.sql")).bind(shard.as_sql());
    let home: Option<(String, String, String)> = server.row(query).await?;
    let Some((schema, ..)) = home else {
        return Err(Failure::new(format!("the sequence of shard {shard} is gone"))
            .at(format!("node {}", server.node))
            .hint("`shardid verify` says what can be done"));
    };
    lower_shard(server, shard, &schema).await.map_err(|failure| failure.hint(AGAIN))
}

/// Draws a term above one that a node knows.
async fn draw_term(journal: &mut Journal, above: i64) -> Result<i64, Failure> {
    let node = journal.server.node.clone();
    let query = sqlx::query_scalar(sql!("move/journal/draw_term.sql")).bind(above);
    let drawn: Option<i64> =
        query.fetch_optional(&mut journal.server.connection).await.map_err(|error| {
            match is_sqlstate(&error, "42703") {
                true => older_catalog(&node),
                false => failure(&node, &error),
            }
        })?;
    // One that was drawn here, and so by a program that had this shard in hand until now.
    drawn.ok_or_else(|| {
        Failure::new("another program works on moves here").hint("`shardid apply` once more")
    })
}
