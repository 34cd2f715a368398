//! What is a server told about the others, so that a catalog which is lost with one of them is not missed?
//!
//! It stands behind the mark that is left there, in the same text: for each ticket, one number at or above all that
//! any server of it was seen at or raised to, and the pace. A catalog that was put back from a backup, with or without its
//! server, knows nothing of the time since; any other server does.

use crate::names::{ClusterName, TicketName};
use crate::tickets::{Notes, Seen, SeenAt, TicketTruth};

/// What is to be noted now, by the catalog and by all notes that there are.
pub fn notes(truth: &TicketTruth) -> Notes {
    let noted = truth.servers.values().flat_map(|server| &server.notes);
    let tickets: Vec<&TicketName> =
        truth.known.keys().chain(noted.map(|(ticket, _)| ticket)).collect();
    let of_one = |ticket: &TicketName| {
        let known = truth.known.get(ticket).into_iter().flat_map(|known| &known.servers);
        let known = Seen::of_all(known.map(|(_, seen)| *seen));
        // What the catalog knows itself is newer, unless it was lost: then an older pace is none of now.
        let others = truth.servers.values().filter_map(|server| server.notes.get(ticket));
        let others = others.filter(|note| note.high_water() > known.high_water());
        Seen::of_all(others.copied().chain([known]))
    };
    tickets.into_iter().map(|ticket| (ticket.clone(), of_one(ticket))).collect()
}

/// What comes before the name of the cluster whose mark it is. Older programs take it for a note that they cannot read.
const CLUSTER: &str = "cluster:";

/// The text that is left on a server of a cluster.
pub fn mark_with_notes(mark: &str, cluster: &ClusterName, notes: &Notes) -> String {
    let mut text = format!("{mark} {CLUSTER}{}", cluster.as_str());
    for (ticket, seen) in notes {
        let Some(last) = seen.last else { continue };
        text.push_str(&format!(" {ticket}={}@{}", last.number, last.at_us));
        if let Some(before) = seen.before {
            text.push_str(&format!(",{}@{}", before.number, before.at_us));
        }
    }
    text
}

/// The cluster that such a text is of; none where an older program has left it.
pub fn marked_by(text: &str) -> Option<String> {
    text.split(' ').skip(1).find_map(|part| part.strip_prefix(CLUSTER)).map(str::to_owned)
}

/// The mark and the notes of such a text. What cannot be read is no note.
pub fn marked_with(text: &str) -> (String, Notes) {
    let mut parts = text.split(' ');
    let mark = parts.next().unwrap_or_default().to_owned();
    let at = |text: &str| {
        let (number, at_us) = text.split_once('@')?;
        Some(SeenAt { number: number.parse().ok()?, at_us: at_us.parse().ok()? })
    };
    let note = |text: &str| {
        let (ticket, seen) = text.split_once('=')?;
        let (last, before) = seen.split_once(',').map_or((seen, None), |(l, b)| (l, Some(b)));
        let last = Some(at(last)?);
        Some((TicketName::new(ticket).ok()?, Seen { last, before: before.and_then(at) }))
    };
    (mark, parts.filter_map(note).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NodeName;
    use crate::tickets::{KnownTicket, TicketServer};

    fn ticket(name: &str) -> TicketName {
        TicketName::new(name).unwrap()
    }

    fn seen(number: u64, at_us: i64) -> Seen {
        Seen::default().then(SeenAt { number, at_us })
    }

    #[test]
    fn what_is_left_on_a_server_is_read_from_there_again() {
        let notes: Notes = [
            (ticket("invoices"), seen(7, -5)),
            (ticket("orders"), seen(100, 10).then(SeenAt { number: 300, at_us: 20 })),
        ]
        .into();
        let ours = ClusterName::new("shop").unwrap();
        let text = mark_with_notes("aBc", &ours, &notes);
        assert_eq!(text, "aBc cluster:shop invoices=7@-5 orders=300@20,100@10");
        assert_eq!(marked_by(&text).as_deref(), Some("shop"));
        assert_eq!(marked_by("aBc orders=300@20"), None);
        assert_eq!(marked_with(&text), ("aBc".to_owned(), notes));
        // As an older program has left it, and as nobody has.
        assert_eq!(marked_with("aBc"), ("aBc".to_owned(), Notes::new()));
        assert_eq!(marked_with("aBc orders=x@3 = orders"), ("aBc".to_owned(), Notes::new()));
        let nothing = [(ticket("orders"), Seen::default())].into();
        assert_eq!(mark_with_notes("aBc", &ours, &nothing), "aBc cluster:shop");
    }

    #[test]
    fn what_a_lost_catalog_has_forgotten_stays_noted() {
        let mut truth = TicketTruth::default();
        let known = |number| KnownTicket {
            servers: vec![(NodeName::new("my1").unwrap(), seen(number, 10))],
        };
        truth.known.insert(ticket("orders"), known(50));
        let server = TicketServer {
            notes: [(ticket("orders"), seen(900, 5)), (ticket("older"), seen(3, 4))].into(),
            ..TicketServer::default()
        };
        truth.servers.insert(NodeName::new("my2").unwrap(), server);
        let noted = notes(&truth);
        assert_eq!(noted[&ticket("orders")].high_water(), 900);
        assert_eq!(noted[&ticket("older")].high_water(), 3);
        truth.known.insert(ticket("orders"), known(1_000));
        assert_eq!(notes(&truth)[&ticket("orders")], seen(1_000, 10));
    }
}
