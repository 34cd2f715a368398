//! Whether the servers have room for all moves of a command: for those under way at once,
//! and for the old copies that follow until they are retired.

use std::collections::{BTreeMap, BTreeSet};

use shardid_cluster::{NodeName, PlannedMove};

use super::server::Server;
use crate::failure::Failure;
use crate::postgres::sql;

/// How a command makes its moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// How many at once.
    pub(crate) parallel: u64,
    /// Whether old copies follow.
    pub(crate) way_back: bool,
}

/// How often a node is left, and how often it is moved to.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    left: u64,
    reached: u64,
}

impl Share {
    /// How much the moves take of what a setting bounds.
    ///
    /// While it is copied, a shard has a stream and one more for a table, at the least. After
    /// that the old copy follows, by a worker where it is and a slot where it came to.
    fn takes(self, setting: &str, pace: Pace) -> u64 {
        let (leaving, coming) = (self.left.min(pace.parallel), self.reached.min(pace.parallel));
        let (following, followed) = match pace.way_back {
            true => (self.left, self.reached),
            false => (0, 0),
        };
        match setting {
            // Tables wait for each other, so one worker more is enough for all.
            "max_logical_replication_workers" | "max_worker_processes" => {
                coming + coming.min(1) + following
            }
            _ => 2 * leaving + followed,
        }
    }
}

/// What is missing on the nodes of these moves, with the settings that would do.
pub(super) async fn missing(
    servers: &mut BTreeMap<NodeName, Server>,
    moves: &[PlannedMove],
    pace: Pace,
) -> Result<Vec<Failure>, Failure> {
    let mut failures = Vec::new();
    let nodes: BTreeSet<&NodeName> = moves.iter().flat_map(|m| [&m.source, &m.target]).collect();
    for node in nodes {
        let count = |is_it: &dyn Fn(&PlannedMove) -> bool| {
            moves.iter().filter(|planned| is_it(planned)).count() as u64
        };
        let share = Share {
            left: count(&|planned| planned.source == *node),
            reached: count(&|planned| planned.target == *node),
        };
        let server = servers.get_mut(node).expect("the caller has connected");
        failures.extend(missing_on(server, share, pace).await?);
    }
    Ok(failures)
}

/// The same for one move that is written down already.
pub(super) async fn missing_for_one(
    source: &mut Server,
    target: &mut Server,
    way_back: bool,
) -> Result<Vec<Failure>, Failure> {
    let pace = Pace { parallel: 1, way_back };
    let mut failures = missing_on(source, Share { left: 1, reached: 0 }, pace).await?;
    failures.extend(missing_on(target, Share { left: 0, reached: 1 }, pace).await?);
    Ok(failures)
}

async fn missing_on(
    server: &mut Server,
    share: Share,
    pace: Pace,
) -> Result<Vec<Failure>, Failure> {
    let bounds: Vec<(String, i64, i64)> =
        server.rows(sqlx::query_as(sql!("move/check/capacity.sql"))).await?;
    let mut failures = Vec::new();
    for (setting, most, taken) in bounds {
        let (most, taken) = (most.unsigned_abs(), taken.unsigned_abs());
        let takes = share.takes(&setting, pace);
        if taken + takes > most {
            let failure = Failure::new(format!(
                "{setting} is {most}, of which {taken} are taken, and this needs {takes}"
            ));
            let fewer = match share.left + share.reached > 1 {
                true => "; or move fewer shards, and `shardid retire` before the next",
                false => "; or `shardid retire` old copies",
            };
            failures.push(failure.at(format!("node {}", server.node)).hint(format!(
                "ALTER SYSTEM SET {setting} = {}; then restart the server{fewer}",
                taken + takes
            )));
        }
    }
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_moves_take_what_those_at_once_and_those_that_follow_take() {
        let takes = |left, reached, parallel, way_back, setting| {
            Share { left, reached }.takes(setting, Pace { parallel, way_back })
        };
        let workers = "max_logical_replication_workers";
        let slots = "max_replication_slots";
        // One move: two workers where it goes, then one where it was.
        assert_eq!(takes(0, 1, 1, true, workers), 2);
        assert_eq!(takes(1, 0, 1, true, workers), 1);
        assert_eq!(takes(1, 0, 1, true, slots), 2);
        assert_eq!(takes(0, 1, 1, true, slots), 1);
        // Twelve by eight: all of them follow in the end.
        assert_eq!(takes(12, 0, 8, true, workers), 12);
        assert_eq!(takes(0, 12, 8, true, workers), 9);
        assert_eq!(takes(12, 0, 8, true, slots), 16);
        assert_eq!(takes(0, 12, 8, true, slots), 12);
        assert_eq!(takes(12, 0, 8, false, workers), 0);
        assert_eq!(takes(0, 12, 8, false, slots), 0);
    }
}
