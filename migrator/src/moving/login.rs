//! How a node logs in at another to follow it: by a role of its own, with a secret that the
//! program makes, that nobody types, and that stands nowhere but in the subscriptions of the
//! node that follows. The other node keeps a verifier of it.
//!
//! No statement holds it: it comes as a parameter, into a setting of the transaction, and a
//! block of code on the server puts the statement together. See `sql/postgres/follow`.

use std::time::Duration;

use shardid_cluster::{Identity, NodeName, Stream, StreamFault, follower_role};

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::{ClusterFile, follower_of};
use crate::postgres::{Secret, is_sqlstate, message, sql};

/// How long it may take a server to subscribe: it connects to the other one.
const SUBSCRIBE_MAX: Duration = Duration::from_secs(60);

/// A stream that is to be made.
pub(super) struct NewStream<'a> {
    pub(super) name: &'a str,
    pub(super) schema: &'a str,
    /// Whether it brings what is there first.
    pub(super) copy: bool,
    /// Whether it is at work at once.
    pub(super) enabled: bool,
    /// What is to be done where a table of the copy has lost its guards.
    pub(super) unguarded: String,
}

/// Has a node follow another, unless it does.
pub(super) async fn subscribe(
    follower: &mut MoveSession,
    publisher: &mut MoveSession,
    stream: &NewStream<'_>,
) -> Result<(), Failure> {
    if stream.copy {
        let role = role_of(follower).await?;
        if let Some(failure) = unset(follower, publisher, &role).await? {
            return Err(failure);
        }
    }
    let taken = sqlx::query_scalar(sql!("follow/name_taken.sql")).bind(stream.name.to_owned());
    if follower.column::<bool>(taken).await? == [true] {
        let name = stream.name;
        return Err(Failure::new(format!(
            "somebody has made a role {name}, which is the name of a stream"
        ))
        .at(format!("node {}", follower.node))
        .hint(format!("ALTER ROLE {name} RENAME TO …; there, then go on")));
    }
    begin(follower, SUBSCRIBE_MAX).await?;
    let outcome = async {
        follower.assure().await?;
        let way_in = way_in(follower, publisher, Which::Known).await?;
        let copy = if stream.copy { "true" } else { "false" };
        let enabled = if stream.enabled { "true" } else { "false" };
        let said = [("stream", stream.name), ("schema", stream.schema)];
        say(follower, &said).await?;
        say(follower, &[("copy", copy), ("enabled", enabled)]).await?;
        say(follower, &[("way_in", &way_in)]).await?;
        follower.block(sql!("follow/subscribe.sql")).await?;
        follower.block(sql!("follow/bound_rights.sql")).await?;
        check_guards(follower, stream.name, &stream.unguarded).await
    };
    let outcome = outcome.await;
    end(follower, outcome).await
}

/// Refuses to have a copy follow whose tables have lost their guards, by which a worker is known, or have a trigger that keeps
/// rows from them. From when they are there, a superuser alone can have changed that.
async fn check_guards(
    follower: &mut MoveSession,
    stream: &str,
    unguarded: &str,
) -> Result<(), Failure> {
    let query = sqlx::query_scalar(sql!("follow/loose_guards.sql")).bind(stream.to_owned());
    let found = follower.column::<Vec<Option<String>>>(query).await?.concat();
    let mut found = found.into_iter().flatten();
    let Some(table) = found.next() else { return Ok(()) };
    let failure = match found.next() {
        Some(trigger) => Failure::new(format!(
            "trigger {trigger} of {table} would fire for rows that come to the copy"
        ))
        .hint(format!("`ALTER TABLE {table} ENABLE TRIGGER {trigger};` there, then go on")),
        None => Failure::new(format!("table {table} of the copy has lost its guards"))
            .hint(unguarded.to_owned()),
    };
    Err(failure.at(format!("node {}", follower.node)))
}

/// Has streams of a node connect anew, with the rights that they should have, and with a new
/// secret where one of them asks for that.
pub(crate) async fn connect_anew(
    file: &ClusterFile,
    follower: &NodeName,
    streams: &[Stream],
) -> Result<(), Failure> {
    let mut follower = MoveSession::connect(file, follower).await?;
    let mut which = match streams.iter().any(|it| it.fault == Some(StreamFault::Secret)) {
        true => Which::New,
        false => Which::Known,
    };
    // What follows by an address that still leads there goes on by it, where the new one does not.
    for stream in streams.iter().filter(|it| it.fault == Some(StreamFault::Address)) {
        let mut publisher = MoveSession::connect(file, &stream.publisher).await?;
        if let Some(why) = try_to_reach(&mut follower, &mut publisher).await? {
            return Err(refused(&follower.node, &stream.publisher, &why));
        }
    }
    begin(&mut follower, SUBSCRIBE_MAX).await?;
    let outcome = async {
        for stream in streams {
            let mut publisher = MoveSession::connect(file, &stream.publisher).await?;
            let way_in = way_in(&mut follower, &mut publisher, which).await?;
            // They share a server, and so the secret that the first of them was given.
            which = Which::Known;
            say(&mut follower, &[("stream", &stream.name), ("schema", &stream.schema)]).await?;
            say(&mut follower, &[("way_in", &way_in)]).await?;
            follower.block(sql!("follow/connect_anew.sql")).await?;
            follower.block(sql!("follow/bound_rights.sql")).await?;
            let instead = "`shardid verify` says what gives it back; then `shardid apply`";
            check_guards(&mut follower, &stream.name, instead).await?;
        }
        Ok(())
    };
    let outcome = outcome.await;
    end(&mut follower, outcome).await
}

/// Has a node connect to another, and leaves nothing; why it cannot, if it cannot.
pub(super) async fn try_to_reach(
    follower: &mut MoveSession,
    publisher: &mut MoveSession,
) -> Result<Option<String>, Failure> {
    let limit = publisher.address.connect_timeout();
    begin(follower, limit).await?;
    let outcome = async {
        let way_in = way_in(follower, publisher, Which::Known).await?;
        say(follower, &[("way_in", &way_in)]).await
    };
    let outcome = outcome.await;
    tried(follower, outcome.map(|()| true), limit).await
}

/// Has a node connect by the way in that a stream has, and leaves nothing; why it cannot, if
/// there is such a stream and it cannot.
pub(super) async fn try_again(
    follower: &mut MoveSession,
    stream: &str,
    limit: Duration,
) -> Result<Option<String>, Failure> {
    begin(follower, limit).await?;
    let known = follower.column(sqlx::query_scalar(sql!("follow/said_of.sql")).bind(stream)).await;
    tried(follower, known.map(|known: Vec<bool>| known == [true]), limit).await
}

/// Ends a try: in the transaction that has been begun, it has been said where to.
async fn tried(
    follower: &mut MoveSession,
    said: Result<bool, Failure>,
    limit: Duration,
) -> Result<Option<String>, Failure> {
    let tried = match said {
        Ok(true) => {
            sqlx::raw_sql(sql!("follow/reach.sql")).execute(&mut follower.connection).await.err()
        }
        Ok(false) => None,
        Err(failure) => return end(follower, Err(failure)).await,
    };
    follower.run(sqlx::query(sql!("move/rollback.sql"))).await?;
    Ok(tried.map(|error| match is_sqlstate(&error, "57014") {
        true => format!("no answer within {} s", limit.as_secs()),
        false => message(&error),
    }))
}

/// That a node cannot follow another one, and what mends it.
pub(super) fn refused(follower: &NodeName, publisher: &NodeName, why: &str) -> Failure {
    Failure::new(format!("node {follower} cannot connect to node {publisher} to follow it: {why}"))
        .hint("`shardid apply` has it connect anew with a secret that is let in; where that is not the reason, see the server's log and pg_hba.conf there")
}

/// Which secret is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// The one that the other node lets in, or a new one where this node has no such.
    Known,
    /// Another than before. What follows by the old one has to be told.
    New,
}

/// The way into a node for another one, whose transaction this is: nobody else finds out or
/// changes the secret until it ends.
async fn way_in(
    follower: &mut MoveSession,
    publisher: &mut MoveSession,
    which: Which,
) -> Result<String, Failure> {
    follower.run(sqlx::query(sql!("follow/lock.sql"))).await?;
    let role = role_of(follower).await?;
    let Some(verifier) = verifier(publisher, &role).await? else {
        return Err(no_role(&follower.node, publisher));
    };
    let rows: Vec<(String, String, bool)> =
        follower.rows(sqlx::query_as(sql!("look/streams.sql"))).await?;
    let known = rows.iter().filter_map(|(_, way_in, _)| follower_of(way_in));
    // Those that follow another server have another secret, for a role of the same name.
    let opens = |secret: &Secret| verifier.as_ref().is_some_and(|it| secret.opens(it));
    let known = known.map(|(_, secret)| secret).find(opens);
    let secret = match known.filter(|_| which == Which::Known) {
        Some(secret) => secret,
        None => give_secret(publisher, &role).await?,
    };
    Ok(publisher.address.for_follower(&role, &secret))
}

/// Gives a role another secret.
async fn give_secret(publisher: &mut MoveSession, role: &str) -> Result<Secret, Failure> {
    let secret = Secret::random()?;
    begin(publisher, SUBSCRIBE_MAX).await?;
    let outcome = async {
        say(publisher, &[("role", role), ("verifier", &secret.verifier()?)]).await?;
        publisher.block(sql!("follow/give_secret.sql")).await
    };
    let outcome = outcome.await;
    end(publisher, outcome).await?;
    Ok(secret)
}

/// The role by which a node follows others.
async fn role_of(follower: &mut MoveSession) -> Result<String, Failure> {
    let query = sqlx::query_as(sql!("follow/identity.sql"));
    let (system_identifier, database) = follower.row(query).await?.unwrap_or_default();
    Ok(follower_role(&follower.node, &Identity { system_identifier, database }))
}

/// What a node keeps of a role's secret, if the role is there.
async fn verifier(
    publisher: &mut MoveSession,
    role: &str,
) -> Result<Option<Option<String>>, Failure> {
    let query = sqlx::query_scalar(sql!("follow/verifier.sql")).bind(role.to_owned());
    Ok(publisher.column(query).await?.into_iter().next())
}

/// That a node has no role by which another one could follow it and nothing of others runs, if that is so.
pub(super) async fn missing(
    follower: &mut MoveSession,
    publisher: &mut MoveSession,
) -> Result<Option<Failure>, Failure> {
    let role = role_of(follower).await?;
    match verifier(publisher, &role).await? {
        None => Ok(Some(no_role(&follower.node, publisher))),
        Some(_) => unset(follower, publisher, &role).await,
    }
}

/// That a role is without a setting that its sessions need, if it is: functions of others would run as it, as a copy reads whatever
/// has the name of a table, or copying a table would not be over in time.
async fn unset(
    follower: &MoveSession,
    publisher: &mut MoveSession,
    role: &str,
) -> Result<Option<Failure>, Failure> {
    let query = sqlx::query_scalar(sql!("follow/settings.sql", "follow/unset.sql"));
    let names = publisher.column::<String>(query.bind(role.to_owned())).await?.pop();
    Ok(names.map(|names| {
        Failure::new(format!(
            "role {role}, by which node {} would follow it, has not the settings that it needs: {names}",
            follower.node
        ))
        .at(format!("node {}", publisher.node))
        .hint("`shardid apply` makes it anew")
    }))
}

fn no_role(follower: &NodeName, publisher: &MoveSession) -> Failure {
    Failure::new(format!("there is no role by which node {follower} may follow it"))
        .at(format!("node {}", publisher.node))
        .hint("`shardid apply` makes it")
}

/// Begins a transaction of which nothing is told, and bounds its statements.
async fn begin(server: &mut MoveSession, limit: Duration) -> Result<(), Failure> {
    server.run(sqlx::query(sql!("follow/begin.sql"))).await?;
    let ms = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX);
    let quiet = sqlx::query(sql!("follow/quiet.sql")).bind(ms.to_string());
    match server.run(quiet).await {
        Ok(()) => Ok(()),
        failed => end(server, failed).await,
    }
}

/// Ends it, one way or the other.
async fn end<T>(server: &mut MoveSession, outcome: Result<T, Failure>) -> Result<T, Failure> {
    let done = match &outcome {
        Ok(_) => server.run(sqlx::query(sql!("follow/commit.sql"))).await,
        // What went wrong before is what counts.
        Err(_) => server.run(sqlx::query(sql!("move/rollback.sql"))).await.or(Ok(())),
    };
    done.and(outcome)
}

/// Tells the next block of code what it is about.
async fn say(server: &mut MoveSession, said: &[(&str, &str)]) -> Result<(), Failure> {
    let (names, values): (Vec<String>, Vec<String>) =
        said.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).unzip();
    server.run(sqlx::query(sql!("follow/say.sql")).bind(names).bind(values)).await
}
