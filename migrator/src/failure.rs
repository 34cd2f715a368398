//! How a command ends when it does not succeed: message, facts, hint, exit code.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

use crate::printable::{in_one_line, printable};

/// What the exit code of a failure says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Refused, or failed with nothing half-way.
    Failed = 1,
    /// The command line or the cluster file is invalid.
    Usage = 2,
    /// A move is unfinished and wants `resume` or `abort`.
    Standing = 3,
}

/// Why a command did not do what it was asked.
///
/// The message is in lower case, without a full stop, and names object and
/// value; the hint is something to do, with the very command.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    reports: Vec<Report>,
    /// Who has said it.
    said_by: SaidBy,
}

/// Who has said why it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SaidBy {
    /// This program; of a server it may be that nothing was heard.
    Us,
    /// A server, which is there then.
    Server,
    /// A server that has no such database.
    ServerWithoutDatabase,
}

/// One thing that stood in the way.
#[derive(Debug, Clone)]
struct Report {
    message: String,
    details: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    /// Something that was refused or did not work.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        let report = Report { message: message.to_string(), details: Vec::new(), hint: None };
        Self { exit: Exit::Failed, reports: vec![report], said_by: SaidBy::Us }
    }

    /// Something that was asked wrongly.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, ..Self::new(message) }
    }

    /// Says that a move is unfinished because of it.
    pub(crate) fn standing(self) -> Self {
        Self { exit: Exit::Standing, ..self }
    }

    /// Says that a server has said it.
    pub(crate) fn answered(self) -> Self {
        Self { said_by: SaidBy::Server, ..self }
    }

    /// Says that a server has said it, which has no such database.
    pub(crate) fn without_database(self) -> Self {
        Self { said_by: SaidBy::ServerWithoutDatabase, ..self }
    }

    /// Whether a server has said it: it is there, whatever it refuses.
    pub(crate) fn is_answer(&self) -> bool {
        self.said_by == SaidBy::Server
    }

    /// Whether a server has said that it has no such database.
    pub(crate) fn is_of_no_database(&self) -> bool {
        self.said_by == SaidBy::ServerWithoutDatabase
    }

    /// Several failures as one; the first decides the exit code.
    pub(crate) fn all(failures: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut failures = failures.into_iter();
        let mut first = failures.next()?;
        first.reports.extend(failures.flat_map(|failure| failure.reports));
        Some(first)
    }

    /// Adds a fact.
    pub(crate) fn detail(mut self, detail: impl fmt::Display) -> Self {
        if let Some(report) = self.reports.last_mut() {
            report.details.push(detail.to_string());
        }
        self
    }

    /// Whether a fact that was added has a text in it.
    pub(crate) fn has_detail(&self, text: &str) -> bool {
        self.reports.iter().flat_map(|report| &report.details).any(|it| it.contains(text))
    }

    /// Says what to do, unless somebody closer to it has said so already.
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        if let Some(report) = self.reports.last_mut() {
            report.hint.get_or_insert_with(|| hint.to_string());
        }
        self
    }

    /// Says what to do, whatever was said before: who is nearer did not know whom it is about.
    pub(crate) fn hint_instead(mut self, hint: impl fmt::Display) -> Self {
        if let Some(report) = self.reports.last_mut() {
            report.hint = Some(hint.to_string());
        }
        self
    }

    /// Puts the place where it happened before the message.
    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        for report in &mut self.reports {
            report.message = format!("{place}: {}", report.message);
        }
        self
    }

    /// Prints it to stderr, in colour where that is a terminal; the exit code says it where nobody can
    /// read that.
    pub(crate) fn print(&self) {
        let _ = self.print_to(&mut anstream::stderr());
    }

    fn print_to(&self, out: &mut impl Write) -> std::io::Result<()> {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let green = Style::new().bold().fg_color(Some(AnsiColor::Green.into()));
        for (i, report) in self.reports.iter().enumerate() {
            if i > 0 {
                writeln!(out)?;
            }
            let message = in_one_line(&report.message);
            writeln!(out, "{red}error:{red:#} {}", wrapped(&message, "error: "))?;
            for detail in &report.details {
                for line in detail.trim_end().lines() {
                    writeln!(out, "  {}", printable(line))?;
                }
            }
            if let Some(hint) = &report.hint {
                writeln!(out, "\n{green}hint:{green:#} {}", wrapped(&in_one_line(hint), "hint: "))?;
            }
        }
        Ok(())
    }

    /// What the process ends with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }

    /// Each message with its hint, for output as JSON.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.reports.iter().map(|report| (report.message.as_str(), report.hint.as_deref()))
    }
}

/// A text broken between words where a terminal would break it anywhere; what
/// is read by programs stays on one line.
fn wrapped(text: &str, head: &str) -> String {
    if !std::io::stderr().is_terminal() {
        return text.to_owned();
    }
    let lines = textwrap::wrap(
        text,
        textwrap::Options::new(textwrap::termwidth().min(100))
            .initial_indent(head)
            .subsequent_indent("  ")
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false),
    );
    lines.join("\n").trim_start_matches(head).to_owned()
}

impl From<shardid_cluster::Refusal> for Failure {
    fn from(refusal: shardid_cluster::Refusal) -> Self {
        let hint = refusal.hint();
        Self::new(refusal).hint(hint)
    }
}
