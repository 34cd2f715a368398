//! The table of results: work, measured ratio, target, ok or missed.

use std::fmt;

/// What a ratio must keep to.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(limit) => ratio <= limit,
            Self::AtLeast(limit) => ratio >= limit,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, limit) = match self {
            Self::AtMost(limit) => ("at most", limit),
            Self::AtLeast(limit) => ("at least", limit),
        };
        write!(f, "{words} {limit}")
    }
}

enum Line {
    Title(String),
    /// A result: what, the value, the target and whether it is met.
    Result {
        work: String,
        measured: String,
        target: String,
        met: bool,
    },
    /// A figure that is not judged.
    Figure {
        work: String,
        measured: String,
    },
    Note(String),
}

/// Lines in the order in which they were measured.
#[derive(Default)]
pub(crate) struct Table {
    lines: Vec<Line>,
    printed: usize,
}

impl Table {
    /// Begins a group of lines.
    pub(crate) fn title(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Title(text.into()));
    }

    /// Adds a ratio.
    pub(crate) fn ratio(&mut self, work: impl Into<String>, ratio: f64, target: Target) {
        self.value(work, ratio, 3, " ×", target);
    }

    /// Adds a value with its unit.
    pub(crate) fn value(
        &mut self,
        work: impl Into<String>,
        value: f64,
        digits: usize,
        unit: &str,
        target: Target,
    ) {
        // Judged as it is printed, so that no line contradicts itself.
        let printed = format!("{value:.digits$}");
        let met = target.is_met(printed.parse().unwrap_or(f64::NAN));
        self.lines.push(Line::Result {
            work: work.into(),
            measured: format!("{printed}{unit}"),
            target: target.to_string(),
            met,
        });
    }

    /// Adds a figure for the reader.
    pub(crate) fn figure(&mut self, work: impl Into<String>, measured: impl Into<String>) {
        self.lines.push(Line::Figure { work: work.into(), measured: measured.into() });
    }

    /// Adds a remark.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Note(text.into()));
    }

    /// Prints what has been added since the last time.
    pub(crate) fn print_new(&mut self) {
        for line in &self.lines[self.printed..] {
            println!("{line}");
        }
        self.printed = self.lines.len();
    }

    /// Says how many targets were met, and names those that were not.
    pub(crate) fn verdict(&self) -> String {
        let judged = self.judged();
        let missed: Vec<String> = self.missed().map(|line| format!("\n{line}")).collect();
        let met = judged - missed.len();
        format!("{met} of {judged} targets met, {} missed{}", missed.len(), missed.concat())
    }

    fn missed(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| matches!(line, Line::Result { met: false, .. }))
    }

    fn judged(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line, Line::Result { .. })).count()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Title(text) => write!(f, "\n{text}"),
            Self::Figure { work, measured } => write!(f, "  {work:<46}{measured:>11}"),
            Self::Note(text) => write!(f, "  ({text})"),
            Self::Result { work, measured, target, met } => {
                let verdict = if *met { "ok" } else { "MISSED" };
                write!(f, "  {work:<46}{measured:>11}   {target:<15}{verdict}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_told_and_counted() {
        let mut table = Table::default();
        table.ratio("fast", 0.15, Target::AtMost(0.15));
        table.ratio("slow", 0.151, Target::AtMost(0.15));
        table.ratio("many", 0.949, Target::AtLeast(0.95));
        table.ratio("broken", f64::NAN, Target::AtLeast(0.95));
        let verdict = table.verdict();
        assert!(verdict.starts_with("1 of 4 targets met, 3 missed"), "{verdict}");
        assert_eq!(verdict.matches("MISSED").count(), 3);
        assert!(!verdict.contains("fast"), "{verdict}");
    }
}
