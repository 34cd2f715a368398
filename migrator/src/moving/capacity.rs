//! Whether the servers have room for all moves of a command: for those under way at once,
//! and for the old copies that follow until they are retired.

use std::collections::{BTreeMap, BTreeSet};

use shardid_cluster::{NodeName, PlannedMove};

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::sql;

/// How a command makes its moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// How many at once.
    pub(crate) parallel: u64,
    /// By how many sessions at once the rows of each are copied.
    pub(crate) jobs: u64,
    /// Whether old copies follow.
    pub(crate) way_back: bool,
}

/// How often a node is left, and how often it is moved to.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    left: u64,
    reached: u64,
    /// How many moves are neither, of a node that keeps the journal of all.
    written_down: u64,
    keeps_journal: bool,
}

/// Sessions of the program for a move: that which works, that which watches over it, and one to
/// compare, to dump, to hold sequences or to tell of a map.
const SESSIONS: u64 = 3;

impl Share {
    /// How much the moves take of what is bounded.
    ///
    /// While it is copied, a shard has a stream and one more for a table, at the least. After
    /// that the old copy follows, by a worker where it is and a slot where it came to.
    fn takes(self, bound: &str, pace: Pace) -> u64 {
        let (leaving, coming) = (self.left.min(pace.parallel), self.reached.min(pace.parallel));
        let (following, followed) = match pace.way_back {
            true => (self.left, self.reached),
            false => (0, 0),
        };
        match bound {
            // Tables wait for each other, so one worker more is enough for all.
            "workers" | "processes" => coming + coming.min(1) + following,
            // Each that follows has one, and each table while it is copied.
            "origins" => 2 * coming + following,
            "connections" => self.sessions(pace),
            _ => 2 * leaving + followed,
        }
    }

    /// Sessions of the program on the node.
    fn sessions(self, pace: Pace) -> u64 {
        let copying = match pace.jobs {
            ..2 => 0,
            jobs => {
                let (leaving, coming) =
                    (self.left.min(pace.parallel), self.reached.min(pace.parallel));
                jobs * (leaving + coming)
            }
        };
        copying + self.sessions_of_moves(pace)
    }

    fn sessions_of_moves(self, pace: Pace) -> u64 {
        let here = (self.left + self.reached).min(pace.parallel);
        // On the journal there is one at work, and one that reads the map for a node that is told;
        // beside moves of other nodes one that watches, and one by which this node is told.
        let elsewhere = self.written_down.min(pace.parallel - here);
        match self.keeps_journal {
            true => (SESSIONS + 2) * here + 4 * elsewhere,
            false => SESSIONS * here,
        }
    }
}

/// What is missing on the nodes of these moves, and on that of their journal, with the settings
/// that would do.
pub(super) async fn missing(
    file: &ClusterFile,
    servers: &mut BTreeMap<NodeName, MoveSession>,
    moves: &[PlannedMove],
    pace: Pace,
) -> Result<Vec<Failure>, Failure> {
    let mut failures = Vec::new();
    let catalog = &file.declared.catalog;
    let mut nodes: BTreeSet<&NodeName> =
        moves.iter().flat_map(|m| [&m.source, &m.target]).collect();
    if !nodes.is_empty() {
        nodes.insert(catalog);
    }
    for node in nodes {
        let count = |is_it: &dyn Fn(&PlannedMove) -> bool| {
            moves.iter().filter(|planned| is_it(planned)).count() as u64
        };
        let keeps_journal = node == catalog;
        let share = Share {
            left: count(&|planned| planned.source == *node),
            reached: count(&|planned| planned.target == *node),
            written_down: count(&|planned| {
                keeps_journal && planned.source != *node && planned.target != *node
            }),
            keeps_journal,
        };
        let mut journal;
        let server = match servers.get_mut(node) {
            Some(server) => server,
            None => {
                journal = MoveSession::look(file, node).await?;
                &mut journal
            }
        };
        failures.extend(missing_on(server, share, pace).await?);
    }
    Ok(failures)
}

/// The same for one move that is written down already, and has its sessions but those that copy its rows at once.
pub(super) async fn missing_for_one(
    source: &mut MoveSession,
    target: &mut MoveSession,
    pace: Pace,
) -> Result<Vec<Failure>, Failure> {
    let (left, reached) =
        (Share { left: 1, ..Share::default() }, Share { reached: 1, ..Share::default() });
    let mut failures = Vec::new();
    for (server, share) in [(source, left), (target, reached)] {
        let mut bounds = bounds(server).await?;
        bounds.retain(|bound| bound.what != "connections" || pace.jobs > 1);
        for bound in bounds.iter_mut().filter(|bound| bound.what == "connections") {
            bound.taken -= share.sessions_of_moves(pace).cast_signed();
        }
        failures.extend(too_low(&server.node, &bounds, share, pace));
    }
    Ok(failures)
}

/// Of what a server has only so much.
#[derive(Debug, sqlx::FromRow)]
struct Bound {
    #[sqlx(rename = "bound")]
    what: String,
    #[sqlx(rename = "name")]
    setting: String,
    most: i64,
    reserved: i64,
    taken: i64,
}

impl Bound {
    /// What the setting would have to be for so much more.
    fn would_do(&self, more: u64) -> u64 {
        (self.reserved + self.taken).unsigned_abs() + more
    }
}

async fn bounds(server: &mut MoveSession) -> Result<Vec<Bound>, Failure> {
    server.rows(sqlx::query_as(sql!("move/check/capacity.sql"))).await
}

async fn missing_on(
    server: &mut MoveSession,
    share: Share,
    pace: Pace,
) -> Result<Vec<Failure>, Failure> {
    let bounds = bounds(server).await?;
    Ok(too_low(&server.node, &bounds, share, pace))
}

fn too_low(node: &NodeName, bounds: &[Bound], share: Share, pace: Pace) -> Vec<Failure> {
    let would_do = |bound: &Bound| bound.would_do(share.takes(&bound.what, pace));
    let mut failures = Vec::new();
    for bound in bounds.iter().filter(|bound| would_do(bound) > bound.most.unsigned_abs()) {
        let Bound { what, setting, most, reserved, taken } = bound;
        let takes = share.takes(what, pace);
        let problem = match what.as_str() {
            "connections" => format!(
                "{setting} is {most}, of which {reserved} are reserved and {taken} taken, and this needs {takes}"
            ),
            // Before version 18 it is the setting of another thing.
            "origins" => format!(
                "{setting} allows {most} replication origins, of which {taken} are taken, and this needs {takes}"
            ),
            _ => format!("{setting} is {most}, of which {taken} are taken, and this needs {takes}"),
        };
        // One setting may bound two things.
        let of_setting = bounds.iter().filter(|other| other.setting == *setting);
        let value = of_setting.map(would_do).max().unwrap_or_default();
        let fewer = match (what.as_str(), pace.parallel) {
            ("connections", 2..) => "; or `--parallel` less",
            ("connections", _) if pace.jobs > 1 => "; or `--jobs` less",
            ("connections", _) => "; or have fewer clients connected",
            _ if share.left + share.reached > 1 => {
                "; or move fewer shards, and `shardid retire` before the next"
            }
            _ => "; or `shardid retire` old copies",
        };
        failures.push(
            Failure::new(problem).at(format!("node {node}")).hint(format!(
                "ALTER SYSTEM SET {setting} = {value}; then restart the server{fewer}"
            )),
        );
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(left: u64, reached: u64) -> Share {
        Share { left, reached, ..Share::default() }
    }

    #[test]
    fn many_moves_take_what_those_at_once_and_those_that_follow_take() {
        let takes = |left, reached, parallel, way_back, what| {
            share(left, reached).takes(what, Pace { parallel, jobs: 1, way_back })
        };
        // One move: two workers where it goes, then one where it was.
        assert_eq!(takes(0, 1, 1, true, "workers"), 2);
        assert_eq!(takes(1, 0, 1, true, "workers"), 1);
        assert_eq!(takes(1, 0, 1, true, "slots"), 2);
        assert_eq!(takes(0, 1, 1, true, "slots"), 1);
        assert_eq!(takes(0, 1, 1, true, "origins"), 2);
        assert_eq!(takes(1, 0, 1, true, "origins"), 1);
        // Twelve by eight: all of them follow in the end.
        assert_eq!(takes(12, 0, 8, true, "workers"), 12);
        assert_eq!(takes(0, 12, 8, true, "workers"), 9);
        assert_eq!(takes(12, 0, 8, true, "slots"), 16);
        assert_eq!(takes(0, 12, 8, true, "slots"), 12);
        assert_eq!(takes(12, 0, 8, true, "origins"), 12);
        assert_eq!(takes(0, 12, 8, true, "origins"), 16);
        assert_eq!(takes(12, 0, 8, false, "workers"), 0);
        assert_eq!(takes(0, 12, 8, false, "slots"), 0);
        assert_eq!(takes(12, 0, 8, false, "origins"), 0);
    }

    #[test]
    fn sessions_are_counted_for_the_moves_at_once_alone() {
        let takes = |share: Share, parallel| {
            share.takes("connections", Pace { parallel, jobs: 1, way_back: true })
        };
        assert_eq!(takes(share(12, 0), 8), 24);
        assert_eq!(takes(share(0, 2), 8), 6);
        let by = |jobs, share: Share| {
            share.takes("connections", Pace { parallel: 8, jobs, way_back: true })
        };
        // Those of a move, and those that copy.
        assert_eq!(by(4, share(0, 2)), 6 + 8);
        assert_eq!(by(4, share(2, 0)), 6 + 8);
        let journal = |left, written_down| Share {
            left,
            written_down,
            keeps_journal: true,
            ..Share::default()
        };
        assert_eq!(takes(journal(12, 0), 8), 40);
        assert_eq!(takes(journal(0, 12), 8), 32);
        assert_eq!(takes(journal(6, 6), 8), 38);
    }

    #[test]
    fn a_setting_that_bounds_two_things_is_named_with_what_does_for_both() {
        let bound = |what: &str, taken| Bound {
            what: what.to_owned(),
            setting: "max_replication_slots".to_owned(),
            most: 4,
            reserved: 0,
            taken,
        };
        let node = NodeName::new("a").unwrap();
        let pace = Pace { parallel: 2, jobs: 1, way_back: true };
        let failures = too_low(&node, &[bound("slots", 3), bound("origins", 1)], share(0, 2), pace);
        let said: Vec<String> = failures.iter().map(|it| format!("{it:?}")).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said.iter().all(|it| it.contains("max_replication_slots = 5;")), "{said:?}");
        assert!(
            too_low(&node, &[bound("slots", 2), bound("origins", 0)], share(0, 2), pace).is_empty()
        );
    }
}
