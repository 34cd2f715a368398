//! How far a move is: a bar on a terminal, several where several moves go on, and
//! a plain line from time to time everywhere else.

use std::fmt::Display;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use shardid_cluster::Shard;

use crate::talk;

/// How often a move says where it is when there is no terminal for a bar.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

/// Of a thousand parts.
const PARTS: u64 = 1000;

/// The bars of all moves that go on, below everything that is said.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Says something above the bars.
pub(crate) fn line(text: impl Display) {
    BARS.suspend(|| talk::line(text));
}

/// What is shown of one move.
pub(super) struct MoveProgress {
    shard: Shard,
    bar: Option<ProgressBar>,
    said: Instant,
}

impl MoveProgress {
    pub(super) fn of(shard: Shard) -> Self {
        Self { shard, bar: None, said: Instant::now() }
    }

    /// Says something about the move.
    pub(super) fn say(&self, text: impl Display) {
        line(format_args!("  shard {}: {text}", self.shard));
    }

    /// Shows how far something is, from 0 to 1, in words too.
    pub(super) fn at(&mut self, share: f64, text: &str) {
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("  shard {prefix} {bar:16} {msg}")
                .expect("the template above is well-formed")
                .progress_chars("=> ");
            let bar = BARS.add(ProgressBar::new(PARTS).with_style(style));
            bar.with_prefix(self.shard.to_string())
        });
        bar.set_position((share * PARTS as f64) as u64);
        bar.set_message(text.to_owned());
        if bar.is_hidden() && self.said.elapsed() >= PLAIN_INTERVAL {
            self.said = Instant::now();
            self.say(text);
        }
    }

    /// Takes the bar away.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            BARS.remove(&bar);
        }
    }
}

impl Drop for MoveProgress {
    fn drop(&mut self) {
        self.clear();
    }
}
