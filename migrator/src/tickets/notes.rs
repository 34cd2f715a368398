//! What is a server told about the others? It outlives a catalog that comes from a backup.

use std::sync::atomic::{AtomicI64, Ordering};

use shardid_cluster::{
    NodeName, Notes, Seen, SeenAt, TicketName, TicketTruth, mark_of_restored, mark_with_notes,
    notes,
};

use super::{TicketJournal, TicketServer};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;

/// The first migration with room for notes behind the mark.
const NOTES_SINCE: i32 = 53;

/// What is to be noted, by the catalog as it is now.
pub(crate) async fn noted(
    journal: &mut TicketJournal,
    truth: &TicketTruth,
) -> Result<Notes, Failure> {
    let known = journal.read().await?.known;
    Ok(notes(&TicketTruth { known, servers: truth.servers.clone(), ..TicketTruth::default() }))
}

/// The text that is left on a server.
pub(super) fn text_on(server: &shardid_cluster::TicketServer, mark: &str, notes: &Notes) -> String {
    match has_room(server) {
        false => mark.to_owned(),
        true => mark_with_notes(mark, notes),
    }
}

/// Whether a server has room for more than a mark.
pub(super) fn has_room(server: &shardid_cluster::TicketServer) -> bool {
    server.migration.is_none_or(|done| done >= NOTES_SINCE)
}

/// Tells the other servers how far one is raised that was restored, before it is. Where the same backup is put back
/// once more, with the catalog or alone, they know.
///
/// They keep their marks: what those tell of themselves is not seen to yet.
pub(super) async fn note(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    truth: &TicketTruth,
    (ticket, node): (&TicketName, &NodeName),
    floor: u64,
) -> Result<(), Failure> {
    let mut notes = noted(journal, truth).await?;
    let raised = Seen::default().then(SeenAt { number: floor, at_us: now_us() });
    let all = notes.get(ticket).copied().into_iter().chain([raised]);
    notes.insert(ticket.clone(), Seen::of_all(all));
    for (other, seen) in truth.servers.iter().filter(|(other, _)| *other != node) {
        // One that was never marked is new.
        let Some(mark) = &seen.mark else { continue };
        let mut server = TicketServer::connect(file, other, "note").await?;
        server.mark(&text_on(seen, mark, &notes)).await?;
        server.session.close().await;
        cuts::at(format_args!("tickets/noted-{other}"));
    }
    Ok(())
}

/// Writes down on a server of which somebody says that it was restored, that neither it nor the others of which that is
/// said are raised yet, and how far they can have been, before anything else is done: whatever stops the program, the
/// next `apply` goes on with all of them, and `verify` tells of them.
pub(super) async fn note_restored(
    file: &ClusterFile,
    truth: &TicketTruth,
    node: &NodeName,
    nodes: &[NodeName],
    said: &[(TicketName, u64)],
) -> Result<(), Failure> {
    let Some(seen) = truth.servers.get(node) else { return Ok(()) };
    let mut notes = seen.notes.clone();
    for (ticket, number) in said {
        let said = Seen::default().then(SeenAt { number: *number, at_us: now_us() });
        let all = notes.get(ticket).copied().into_iter().chain([said]);
        notes.insert(ticket.clone(), Seen::of_all(all));
    }
    let mark = mark_of_restored(nodes.iter().filter(|_| has_room(seen)));
    let mut server = TicketServer::connect(file, node, "note").await?;
    server.mark(&text_on(seen, &mark, &notes)).await?;
    server.session.close().await;
    cuts::at(format_args!("tickets/said-restored-{node}"));
    Ok(())
}

/// How far the clock of the catalog's server is ahead of this machine's, in microseconds.
static AHEAD_US: AtomicI64 = AtomicI64::new(0);

/// Takes the clock of the catalog's server, which reads so many microseconds since 1970, for ours: looks are
/// made on many machines, and how much time lies between two of them is counted.
pub(super) fn follow_clock(server_us: i64) {
    AHEAD_US.store(server_us.saturating_sub(machine_us()), Ordering::Relaxed);
}

/// Microseconds since 1970, by the clock of the catalog's server.
pub(crate) fn now_us() -> i64 {
    machine_us().saturating_add(AHEAD_US.load(Ordering::Relaxed))
}

fn machine_us() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.ok().and_then(|now| i64::try_from(now.as_micros()).ok()).unwrap_or(0)
}
