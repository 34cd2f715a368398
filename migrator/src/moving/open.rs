//! Opening shards that no move is going to open.

use std::time::Duration;

use shardid_cluster::{MoveKind, MoveState, NodeName, Shard, ShardSet};

use super::context::MoveContext;
use super::fence::{self, AGAIN, lower_shard};
use super::home::Home;
use super::journal::{Move, MoveJournal, older_catalog};
use super::move_session::{MoveSession, Term};
use super::options::{Options, Verify};
use super::progress::MoveProgress;
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
    let mut journal = MoveJournal::open(file).await?;
    let mut server = MoveSession::connect(file, node).await?;
    let mut failures = Vec::new();
    for shard in shards.iter() {
        if let Err(failure) = open(file, &mut journal, &mut server, shard).await {
            failures.push(failure);
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn open(
    file: &ClusterFile,
    journal: &mut MoveJournal,
    server: &mut MoveSession,
    shard: Shard,
) -> Result<(), Failure> {
    journal.lock(shard).await?;
    // Since the plan was made.
    let query = sqlx::query_scalar(sql!("move/journal/is_free.sql"));
    let free = query.bind(shard.as_sql()).bind(server.node.as_str());
    if journal.server.column::<bool>(free).await? != [true] {
        return Err(Failure::new(format!("a move has begun to work on shard {shard}"))
            .hint("`shardid moves` shows it, with what can be done"));
    }
    let number = draw_term(journal, 0).await?;
    let number = claim(journal, &mut [&mut *server], shard, number).await?;
    cuts::at(format_args!("open/claimed"));
    match Home::of(server, shard).await? {
        Some(home) if home.state != "moved" => {
            let lowered = lower_shard(server, shard, &home.schema).await;
            lowered.map_err(|failure| failure.hint(AGAIN))
        }
        _ => {
            let opened = open_as_a_move_was_to(file, journal, server, shard, number).await;
            opened.map_err(|failure| failure.hint(AGAIN))
        }
    }
}

/// Claims a shard on nodes by a term that was drawn, or by a higher one. Returns which.
async fn claim(
    journal: &mut MoveJournal,
    servers: &mut [&mut MoveSession],
    shard: Shard,
    mut number: i64,
) -> Result<i64, Failure> {
    loop {
        cuts::at(format_args!("open/before-claim"));
        let mut known = number;
        for server in &mut *servers {
            known = known.max(server.claim(Term { shard, number }).await?);
        }
        if known == number {
            return Ok(number);
        }
        // The catalog is older than the node.
        number = draw_term(journal, known).await?;
    }
}

/// Opens a shard where a move was about to open it that is lost with its catalog: the node
/// where it was is closed, and says that it lives here. What is left of that move is done as
/// by [`effects`](shardid_cluster::effects) of a switched one, as far as the shard hangs on it.
async fn open_as_a_move_was_to(
    file: &ClusterFile,
    journal: &mut MoveJournal,
    server: &mut MoveSession,
    shard: Shard,
    number: i64,
) -> Result<(), Failure> {
    let (mut source, schema) = sent_from(file, server, shard).await?;
    claim(journal, &mut [&mut source, &mut *server], shard, number).await?;
    let target = MoveSession::connect_as(file, &server.node, server.term()).await?;
    let record = Move {
        // It is in no journal.
        id: 0,
        shard,
        source: source.node.clone(),
        target: target.node.clone(),
        kind: MoveKind::Copy,
        rollback_of: None,
        schema,
        way_back: false,
        state: MoveState::Switched,
        shape: None,
        seal: None,
        followed: None,
        origin: None,
        whole: None,
        rules: None,
        opening: false,
        was_switched: true,
        planned_us: 0,
        since_us: 0,
        retired_us: None,
        retiring: false,
        planned_by: String::new(),
    };
    let options = Options {
        fence_max: Duration::ZERO,
        verify: Verify::None,
        stall_max: Duration::ZERO,
        lag_max_bytes: None,
        accept_loss: false,
    };
    let mut context = MoveContext {
        file,
        record,
        options,
        progress: MoveProgress::of(shard),
        compared: None,
        compares_slowly: false,
        source_checked: false,
        outwaited: 0,
        journal: MoveJournal::open(file).await?,
        source,
        target,
        holding: None,
        held: false,
        given: Vec::new(),
    };
    fence::guard(&mut context).await?;
    cuts::at(format_args!("open/guarded"));
    fence::open(&mut context).await
}

/// The node that has sent a shard to another one, and the schema that it lives in.
async fn sent_from(
    file: &ClusterFile,
    server: &MoveSession,
    shard: Shard,
) -> Result<(MoveSession, String), Failure> {
    for (node, _) in file.postgres().filter(|(node, _)| **node != server.node) {
        let mut other = MoveSession::connect(file, node).await?;
        let query = sqlx::query_scalar(sql!("move/journal/sent.sql"));
        let query = query.bind(shard.as_sql()).bind(server.node.as_str());
        if let Some(schema) = other.column(query).await?.pop() {
            return Ok((other, schema));
        }
    }
    Err(Failure::new(format!("the sequence of shard {shard} is gone"))
        .at(format!("node {}", server.node))
        .hint("`shardid verify` says what can be done"))
}

/// Draws a term above one that a node knows.
async fn draw_term(journal: &mut MoveJournal, above: i64) -> Result<i64, Failure> {
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
