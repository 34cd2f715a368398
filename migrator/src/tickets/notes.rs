//! What is a server told about the others? It outlives a catalog that comes from a backup.

use shardid_cluster::{
    NodeName, Notes, Seen, SeenAt, TicketName, TicketTruth, mark_of_restored, mark_with_notes,
    notes,
};

use super::clock::now_us;
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
pub(super) fn text_on(
    file: &ClusterFile,
    server: &shardid_cluster::TicketServer,
    mark: &str,
    notes: &Notes,
) -> String {
    match has_room(server) {
        false => mark.to_owned(),
        true => mark_with_notes(mark, &file.declared.name, notes),
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
        server.mark(&text_on(file, seen, mark, &notes)).await?;
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
    server.mark(&text_on(file, seen, &mark, &notes)).await?;
    server.session.close().await;
    cuts::at(format_args!("tickets/said-restored-{node}"));
    Ok(())
}
