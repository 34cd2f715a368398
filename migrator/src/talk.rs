//! What the program says while it works: to stderr, with bars on a terminal
//! and plain lines everywhere else.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::printable::printable;

/// How often long work says where it is when there is no terminal for a bar.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Says something. What nobody can read, because the terminal is gone or the disk of a log full, is no
/// reason to stop in the middle of something.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{}", printable(&text.to_string()));
}

/// Shows what is made for the eye, with colours, and has shown names of others as [`printable`] already.
pub(crate) fn view(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", text.trim_end());
}

/// Asks a question that only `y` or `yes` answers with yes.
///
/// Fails where there is nobody to ask.
pub(crate) fn ask(question: impl Display) -> Result<bool, Failure> {
    ask_or(question, "look at `shardid plan`, then say `--yes`")
}

/// The same, with what to do instead where there is nobody to ask.
pub(crate) fn ask_or(question: impl Display, instead: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(
            Failure::new("there is no terminal to ask on before anything is changed").hint(instead)
        );
    }
    let mut stderr = anstream::stderr();
    let _ =
        write!(stderr, "{} [y/N] ", printable(&question.to_string())).and_then(|()| stderr.flush());
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(format!("could not read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Several pieces of work that go on at once.
pub(crate) struct ProgressBars(MultiProgress);

impl ProgressBars {
    pub(crate) fn new() -> Self {
        Self(MultiProgress::new())
    }

    /// Begins a piece of work of `total` parts.
    pub(crate) fn begin(&self, what: impl Into<String>, total: u32) -> Work {
        let what = what.into();
        let style = ProgressStyle::with_template("  {msg} {wide_bar} {pos}/{len} {eta:>4}")
            .expect("the template above is well-formed")
            .progress_chars("=> ");
        let bar = self.0.add(ProgressBar::new(total.into()).with_style(style));
        bar.set_message(what.clone());
        Work { bars: self.0.clone(), bar, what, total, done: 0, said: Instant::now() }
    }

    /// Says something above the bars.
    pub(crate) fn line(&self, text: impl Display) {
        self.0.suspend(|| line(text));
    }
}

/// One piece of work.
pub(crate) struct Work {
    bars: MultiProgress,
    bar: ProgressBar,
    what: String,
    total: u32,
    done: u32,
    said: Instant,
}

impl Work {
    /// Says that so many more parts are done.
    pub(crate) fn advance(&mut self, parts: u32) {
        self.done += parts;
        self.bar.inc(parts.into());
        if self.bar.is_hidden() && self.said.elapsed() >= PLAIN_INTERVAL {
            self.said = Instant::now();
            line(format_args!("  {}: {} of {}", self.what, self.done, self.total));
        }
    }

    /// Ends it; the bar gives way to a line.
    pub(crate) fn end(self, text: impl Display) {
        self.bar.finish_and_clear();
        self.bars.suspend(|| line(text));
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
