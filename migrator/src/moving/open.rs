//! Opening shards that no move is going to open, and taking away what fences have left around open ones.

use std::time::Duration;

use shardid_cluster::{MoveKind, MoveState, NodeName, Refusal, Shard, ShardSet, Whole, lost};

use super::ahead::descent;
use super::back::open_on_source;
use super::context::MoveContext;
use super::elsewhere::Elsewhere;
use super::fence::{self, lower_shard};
use super::home::{Home, is_open};
use super::journal::{Move, MoveJournal, older_catalog};
use super::move_session::{AGAIN, MoveSession, Term};
use super::options::{Options, Verify};
use super::progress::MoveProgress;
use super::take_away;
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::descent::NotedRow;
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
    each(file, node, shards, async |journal, server, shard| {
        open(file, journal, server, shard).await
    })
    .await
}

/// Does something with each shard by itself.
async fn each(
    file: &ClusterFile,
    node: &NodeName,
    shards: &ShardSet,
    work: impl AsyncFn(&mut MoveJournal, &mut MoveSession, Shard) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // The locks of the shards are of this session: until its end no move begins to work on one.
    let mut journal = MoveJournal::open(file).await?;
    let mut server = MoveSession::connect(file, node).await?;
    let mut failures = Vec::new();
    for shard in shards.iter() {
        if let Err(failure) = work(&mut journal, &mut server, shard).await {
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
    let number = take_in_hand(journal, server, shard).await?;
    match Home::of(server, shard).await? {
        Some(home) if home.state != "moved" => {
            let lowered = lower_shard(server, shard, &home.schema).await;
            lowered.map_err(|failure| failure.hint(AGAIN))?;
            take_away::or_say(server, shard, &home.schema).await
        }
        _ => {
            let opened = open_closed(file, journal, server, shard, number).await;
            opened.map_err(|failure| failure.hint(AGAIN))
        }
    }
}

/// Takes away what fences have left around shards that are open on a node, each by itself.
pub(crate) async fn take_away_fences(
    file: &ClusterFile,
    node: &NodeName,
    shards: &ShardSet,
) -> Result<(), Failure> {
    each(file, node, shards, unfence).await
}

async fn unfence(
    journal: &mut MoveJournal,
    server: &mut MoveSession,
    shard: Shard,
) -> Result<(), Failure> {
    take_in_hand(journal, server, shard).await?;
    if let Some(home) = Home::of(server, shard).await?.filter(|home| home.state == "open") {
        let taken = take_away::all_or_fail(server, shard, &home.schema).await;
        taken.map_err(|failure| failure.hint(AGAIN))?;
    }
    match is_open(server, shard).await? {
        true => Ok(()),
        false => Err(Failure::new(format!("shard {shard} is not open any more"))
            .at(format!("node {}", server.node))
            .hint("`shardid plan` shows what is to be done now")),
    }
}

/// Claims a shard that no move is about for a term of its own, which it returns.
async fn take_in_hand(
    journal: &mut MoveJournal,
    server: &mut MoveSession,
    shard: Shard,
) -> Result<i64, Failure> {
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
    Ok(number)
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

/// Opens a shard that is closed here: for a move that has closed it on another node, or here.
async fn open_closed(
    file: &ClusterFile,
    journal: &mut MoveJournal,
    server: &mut MoveSession,
    shard: Shard,
    number: i64,
) -> Result<(), Failure> {
    if let Some(sent) = sent_from(file, server, shard).await? {
        return open_as_a_move_was_to(file, journal, server, shard, number, sent).await;
    }
    if let Some(closed) = closed_here(file, server, shard).await? {
        return open_again(file, journal, server, shard, number, closed).await;
    }
    Err(Failure::new(format!("the sequence of shard {shard} is gone"))
        .at(format!("node {}", server.node))
        .hint("`shardid verify` says what can be done"))
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
    (mut source, schema, stream): (MoveSession, String, String),
) -> Result<(), Failure> {
    claim(journal, &mut [&mut source, &mut *server], shard, number).await?;
    let mut target = MoveSession::connect_as(file, &server.node, server.term()).await?;
    let whole = check_whole(&mut source, &mut target, shard).await?;
    let record = Move {
        whole: Some(whole),
        in_stream: Some(stream),
        ..in_no_journal(shard, &source.node, &target.node, schema)
    };
    let options = Options {
        fence_max: Duration::ZERO,
        jobs: 1,
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
        dumped: None,
        finds_rows: false,
        source_checked: false,
        went_back: false,
        outwaited: 0,
        journal: MoveJournal::open(file).await?,
        source,
        target,
        holding: None,
        held: false,
        opening: None,
        locked: false,
        given: Vec::new(),
    };
    fence::guard(&mut context).await?;
    cuts::at(format_args!("open/guarded"));
    // Whether it was opened before stood in the catalog.
    let elsewhere = Elsewhere::of_target(&mut context.target, &context.record).await?;
    fence::open(&mut context, elsewhere).await
}

/// Refuses to open a shard where nothing shows that all of its rows are: the node was promoted or restored
/// since the plan was made.
async fn check_whole(
    source: &mut MoveSession,
    target: &mut MoveSession,
    shard: Shard,
) -> Result<Whole, Failure> {
    let noted: Vec<NotedRow> = source.rows(sqlx::query_as(sql!("look/noted.sql"))).await?;
    let noted = noted.iter().find(|row| row.shard == shard.as_sql());
    let whole = noted.and_then(NotedRow::whole);
    let why = match whole {
        Some(whole) => match lost(&whole, &descent(target).await?.descent) {
            None => return Ok(whole),
            why => why,
        },
        None => None,
    };
    let shards = std::iter::once(shard).collect();
    let (node, home) = (target.node.clone(), source.node.clone());
    Err(Failure::from(Refusal::MayLack { shards, node, home, why }))
}

/// Where a shard goes back to that was closed there: where it was to be opened, and the schema.
async fn closed_here(
    file: &ClusterFile,
    server: &mut MoveSession,
    shard: Shard,
) -> Result<Option<(NodeName, String)>, Failure> {
    let query = sqlx::query_as(sql!("move/journal/closed.sql")).bind(shard.as_sql());
    let closed: Option<(String, String)> = server.row(query).await?;
    let known = |(node, schema): (String, String)| {
        let (node, _) = file.postgres().find(|(other, _)| other.as_str() == node)?;
        Some((node.clone(), schema))
    };
    Ok(closed.and_then(known))
}

/// Opens a shard again on the node that has closed it for a move which is lost with its catalog: it has
/// all rows, and nothing shows that the other one does.
async fn open_again(
    file: &ClusterFile,
    journal: &mut MoveJournal,
    server: &mut MoveSession,
    shard: Shard,
    number: i64,
    (target, schema): (NodeName, String),
) -> Result<(), Failure> {
    let mut other = MoveSession::connect(file, &target).await?;
    claim(journal, &mut [&mut other, &mut *server], shard, number).await?;
    let rules = sqlx::query_scalar(sql!("move/sequence/noted_rules.sql")).bind(shard.as_sql());
    let rules: Vec<String> = server.column(rules).await?;
    let record = Move {
        rules: rules.into_iter().next(),
        ..in_no_journal(shard, &server.node, &target, schema)
    };
    open_on_source(file, journal, server, &record).await
}

/// A move that is lost with its catalog, and has switched; perhaps its target was opened.
fn in_no_journal(shard: Shard, source: &NodeName, target: &NodeName, schema: String) -> Move {
    Move {
        id: 0,
        shard,
        source: source.clone(),
        target: target.clone(),
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
        opening: true,
        reopened: false,
        was_switched: true,
        planned_us: 0,
        since_us: 0,
        retired_us: None,
        retiring: false,
        planned_by: String::new(),
        in_stream: None,
    }
}

/// The node that has sent a shard here, the schema that it lives in there, and by which stream.
async fn sent_from(
    file: &ClusterFile,
    server: &MoveSession,
    shard: Shard,
) -> Result<Option<(MoveSession, String, String)>, Failure> {
    for (node, _) in file.postgres().filter(|(node, _)| **node != server.node) {
        let mut other = MoveSession::connect(file, node).await?;
        let query = sqlx::query_as(sql!("move/journal/sent.sql"));
        let query = query.bind(shard.as_sql()).bind(server.node.as_str());
        if let Some((schema, stream)) = other.row(query).await? {
            return Ok(Some((other, schema, stream)));
        }
    }
    Ok(None)
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
