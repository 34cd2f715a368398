//! Who follows whom: the roles, the streams, and whether the one lets the other in.

use std::collections::BTreeMap;

use shardid_cluster::{
    FOLLOWER_PREFIX, FollowerRole, NodeName, Stream, StreamFault, Truth, follower_role, renamed,
};
use sqlx::FromRow;
use sqlx::postgres::PgConnection;

use crate::file::{Address, ClusterFile, follower_of};
use crate::postgres::sql;

/// What one node says about those who follow it, and about whom it follows.
#[derive(Default)]
pub(crate) struct Following {
    /// What the server keeps of the secret of each role.
    verifiers: BTreeMap<String, Option<String>>,
    streams: Vec<StreamRow>,
}

#[derive(FromRow)]
struct RoleRow {
    role: String,
    here: bool,
    sound: bool,
    verifier: Option<String>,
}

#[derive(FromRow)]
struct StreamRow {
    name: String,
    way_in: String,
    bounded: bool,
}

/// A stream that the journal of moves knows of.
#[derive(FromRow)]
pub(crate) struct JournalStream {
    name: String,
    schema: String,
    publisher: String,
    follower: String,
}

/// The roles by which a node is followed.
pub(crate) type Roles = BTreeMap<String, FollowerRole>;

/// Looks at the roles and the streams of a node, as a superuser.
pub(crate) async fn look(connection: &mut PgConnection) -> Result<(Roles, Following), sqlx::Error> {
    let mut following = Following::default();
    let mut roles = Roles::new();
    let rows: Vec<RoleRow> = sqlx::query_as(sql!("follow/settings.sql", "look/followers.sql"))
        .bind(FOLLOWER_PREFIX)
        .fetch_all(&mut *connection)
        .await?;
    for RoleRow { role, here, sound, verifier } in rows {
        roles.insert(role.clone(), FollowerRole { here, sound });
        // One that is to be made anew will have no secret.
        following.verifiers.insert(role, verifier.filter(|_| here && sound));
    }
    following.streams =
        sqlx::query_as(sql!("look/streams.sql")).fetch_all(&mut *connection).await?;
    Ok((roles, following))
}

/// What the journal of moves says of streams.
pub(crate) async fn journal(
    connection: &mut PgConnection,
) -> Result<Vec<JournalStream>, sqlx::Error> {
    sqlx::query_as(sql!("look/journal_streams.sql")).fetch_all(&mut *connection).await
}

/// Writes down which streams there are, and what is wrong with each.
pub(crate) fn note_streams(
    truth: &mut Truth,
    file: &ClusterFile,
    journal: Vec<JournalStream>,
    following: &BTreeMap<NodeName, Following>,
) {
    for known in journal {
        let renames = &truth.catalog.renames;
        let find = |name: &str| {
            let name = NodeName::new(name).ok()?;
            following.get_key_value(renamed(&name, renames))
        };
        let (Some((publisher, there)), Some((follower, here))) =
            (find(&known.publisher), find(&known.follower))
        else {
            continue;
        };
        // It is not made yet, or gone.
        let Some(row) = here.streams.iter().find(|row| row.name == known.name) else { continue };
        let Some(seen) = truth.nodes.get(follower) else { continue };
        let role = follower_role(follower, &seen.identity);
        let fault = match () {
            () if !let_in(&role, &row.way_in, there) => Some(StreamFault::Login),
            () if leads_elsewhere(&row.way_in, file.address(publisher).ok()) => {
                Some(StreamFault::Address)
            }
            () if !row.bounded => Some(StreamFault::Rights),
            () => None,
        };
        let stream =
            Stream { name: known.name, schema: known.schema, publisher: publisher.clone(), fault };
        truth.streams.entry(follower.clone()).or_default().push(stream);
    }
}

/// Whether a way in, which is one of ours, is not the one by the address that a node has now.
fn leads_elsewhere(way_in: &str, address: Option<&Address>) -> bool {
    let (Some((role, secret)), Some(address)) = (follower_of(way_in), address) else {
        return false;
    };
    address.for_follower(&role, &secret) != way_in
}

/// Whether a node lets in who comes as this role in this way.
fn let_in(role: &str, way_in: &str, there: &Following) -> bool {
    let Some((login, secret)) = follower_of(way_in) else { return false };
    let Some(Some(verifier)) = there.verifiers.get(role) else { return false };
    login == role && secret.opens(verifier)
}
