//! How far is the copy of a shard, and how fast does it go?

use std::collections::BTreeMap;
use std::time::Instant;

use super::context::MoveContext;
use super::pace::{Pace, share};
use crate::failure::Failure;
use crate::postgres::sql;

/// A table that is being copied, or was.
#[derive(sqlx::FromRow)]
pub(super) struct Table {
    name: String,
    copied: bool,
    /// Both none where nothing tells: its copy has ended, or has not begun.
    rows: Option<i64>,
    bytes: Option<i64>,
}

/// How far a copy is, against what there is to copy.
pub(super) struct Copy {
    /// Rows and bytes by table, as the source believes.
    expected: BTreeMap<String, (i64, i64)>,
    /// Rows and bytes by table that have arrived.
    pub(super) arrived: BTreeMap<String, (i64, i64)>,
    tables: usize,
    rows: Pace,
    bytes: Pace,
}

impl Copy {
    pub(super) async fn of(context: &mut MoveContext<'_>) -> Result<Self, Failure> {
        let query =
            sqlx::query_as(sql!("move/stream/expected.sql")).bind(context.record.schema.as_str());
        let tables: Vec<(String, i64, i64)> = context.source.rows(query).await?;
        let expected = tables.into_iter().map(|(name, rows, bytes)| (name, (rows, bytes)));
        Ok(Self {
            expected: expected.collect(),
            arrived: BTreeMap::new(),
            tables: 0,
            rows: Pace::default(),
            bytes: Pace::default(),
        })
    }

    pub(super) fn see(&mut self, at: Instant, tables: &[Table]) {
        self.tables = tables.iter().filter(|table| table.copied).count();
        for table in tables {
            let known = self.arrived.entry(table.name.clone()).or_default();
            match (table.copied, table.rows, table.bytes) {
                // Its figures are gone when it is done.
                (true, ..) => {
                    if let Some(all) = self.expected.get(&table.name) {
                        *known = (known.0.max(all.0), known.1.max(all.1));
                    }
                }
                // A copy that failed begins again: what was counted says nothing of its pace.
                (false, Some(rows), Some(bytes)) => {
                    if rows < known.0 || bytes < known.1 {
                        (self.rows, self.bytes) = Default::default();
                    }
                    *known = (rows, bytes);
                }
                // Between its last row and the moment at which it is called copied.
                _ => {}
            }
        }
        self.rows.see(at, sum(&self.arrived).0);
        self.bytes.see(at, sum(&self.arrived).1);
    }

    pub(super) fn share(&self) -> f64 {
        share(sum(&self.arrived).0, sum(&self.expected).0)
    }
}

fn sum(tables: &BTreeMap<String, (i64, i64)>) -> (i64, i64) {
    tables.values().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

impl std::fmt::Display for Copy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (arrived, expected) = (sum(&self.arrived).0, sum(&self.expected).0);
        let all = self.expected.len();
        write!(f, "copying: {} of {all} tables, {arrived} of about {expected} rows", self.tables)?;
        if let (Some(rows), Some(bytes)) = (self.rows.per_second(), self.bytes.per_second()) {
            write!(f, ", {rows:.0} rows/s, {:.1} MB/s", bytes / 1e6)?;
        }
        match self.rows.left(expected - arrived) {
            Some(left) => write!(f, ", about {} s left", left.as_secs()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// It said 24670 of about 1024670 rows after 742817, and -9261 rows/s.
    #[test]
    fn what_has_arrived_stays_when_a_table_is_done_and_no_pace_is_below_none() {
        let table = |name: &str, copied, rows: Option<i64>| Table {
            name: name.to_owned(),
            copied,
            rows,
            bytes: rows.map(|rows| rows * 10),
        };
        let expected = [("a".to_owned(), (1000, 10_000)), ("b".to_owned(), (100, 1000))];
        let mut copy = Copy {
            expected: expected.into(),
            arrived: BTreeMap::new(),
            tables: 0,
            rows: Pace::default(),
            bytes: Pace::default(),
        };
        let began = Instant::now();
        let mut see = |seconds, a, b| {
            copy.see(began + Duration::from_secs(seconds), &[a, b]);
            (sum(&copy.arrived).0, copy.rows.per_second())
        };
        assert_eq!(see(0, table("a", false, Some(100)), table("b", false, None)), (100, None));
        let half = see(2, table("a", false, Some(900)), table("b", false, Some(10)));
        assert_eq!(half, (910, Some(405.0)));
        // Done, and not called so yet.
        let ended = see(4, table("a", false, None), table("b", false, Some(20)));
        assert_eq!(ended, (920, Some(205.0)));
        assert_eq!(see(6, table("a", true, None), table("b", false, Some(30))).0, 1030);
        // One that failed begins again.
        let again = see(8, table("a", true, None), table("b", false, Some(5)));
        assert_eq!(again, (1005, None));
        assert_eq!(see(10, table("a", true, None), table("b", true, None)), (1100, Some(47.5)));
    }
}
