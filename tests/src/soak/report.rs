//! What has a run seen, and what has it found?

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How often each thing happened.
type Counts = BTreeMap<&'static str, u64>;

/// What a run has seen, where it found nothing.
#[derive(Debug, Clone)]
pub struct Report {
    /// Ids received, no two of them the same.
    pub ids: u64,
    /// How often a session began.
    pub sessions: u64,
    /// How often the clock rule, a fence or an operation refused, as it should.
    pub refused: u64,
    /// How often each thing happened, by itself or as part of another.
    pub events: Counts,
    /// The numbered faults, by kind.
    pub faults: Counts,
    /// The number of the fault that would have come next.
    pub next_fault: u64,
    /// How many planted repeats were noticed, by the kind of fault before them.
    pub noticed: Counts,
    /// How many ids were received in each way.
    pub ways: Counts,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a run has found.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule that was broken, and by what.
    pub what: String,
    /// The last things that happened before.
    pub events: Vec<String>,
    /// How many ids had been received.
    pub ids: u64,
    /// The number of the fault that it came with, or that was to come next.
    pub next_fault: u64,
    /// How many planted repeats were noticed, by the kind of fault before them.
    pub noticed: Counts,
}

impl Report {
    /// One line for the table on docs/benchmarks.md.
    pub fn line(&self, seed: u64, from: u64) -> String {
        format!(
            "| {seed} | {from}–{} | {} | {} | 0 | {} of {} |",
            self.next_fault - 1,
            list(&self.faults),
            grouped(self.ids),
            grouped(self.noticed.values().sum()),
            grouped(self.faults.values().sum()),
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ids to {} sessions in {:.1} s: none came twice, all rose within their session",
            grouped(self.ids),
            grouped(self.sessions),
            self.elapsed.as_secs_f64()
        )?;
        writeln!(f, "happened: {}", list(&self.events))?;
        writeln!(f, "ids by way: {}", list(&self.ways))?;
        writeln!(f, "planted repeats noticed, by the fault before: {}", list(&self.noticed))?;
        write!(f, "refused by the clock rule, a fence or an operation: {}", grouped(self.refused))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\nafter {} ids, and what happened last:", self.what, grouped(self.ids))?;
        for event in &self.events {
            writeln!(f, "{event}")?;
        }
        Ok(())
    }
}

fn list(counts: &Counts) -> String {
    let parts: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
    parts.join(", ")
}

/// 1,234,567.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(123), "123");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
