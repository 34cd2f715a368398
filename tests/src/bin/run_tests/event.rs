//! What a test program says, a line of JSON each.
//!
//! The form is libtest's own, which stable Rust shows to who sets `RUSTC_BOOTSTRAP` for the
//! test program (and for nothing that is built). What is no such line is what a child of a
//! test has printed.

use std::time::Duration;

use serde::Deserialize;

/// What has happened.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// A test has begun.
    Began(String),
    /// A test has ended.
    Ended(Ended),
    /// The program has come to its end, whatever its tests did.
    Over,
    /// Something else that libtest says.
    Other,
}

/// How a test has ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) ok: bool,
    pub(crate) took: Duration,
    /// What it printed; libtest says it of failed tests alone.
    pub(crate) printed: String,
}

#[derive(Deserialize)]
struct Line {
    r#type: String,
    event: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    exec_time: f64,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    message: String,
}

/// Reads a line; `None` where it is none of libtest's.
pub(crate) fn read(line: &str) -> Option<Event> {
    let line: Line = serde_json::from_str(line).ok()?;
    let event = line.event.unwrap_or_default();
    Some(match (line.r#type.as_str(), event.as_str()) {
        ("test", "started") => Event::Began(line.name),
        ("test", "ok" | "failed" | "ignored") => Event::Ended(Ended {
            name: line.name,
            ok: event != "failed",
            took: Duration::try_from_secs_f64(line.exec_time).unwrap_or_default(),
            printed: line.stdout + &line.message,
        }),
        ("suite", "ok" | "failed") => Event::Over,
        _ => Event::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begin_and_end_of_a_test_are_read_and_other_lines_are_none() {
        let began = r#"{ "type": "test", "event": "started", "name": "a::b" }"#;
        assert_eq!(read(began), Some(Event::Began("a::b".into())));
        let failed = r#"{ "type": "test", "name": "a::b", "event": "failed", "exec_time": 0.5, "stdout": "no\n" }"#;
        let ended = Ended {
            name: "a::b".into(),
            ok: false,
            took: Duration::from_millis(500),
            printed: "no\n".into(),
        };
        assert_eq!(read(failed), Some(Event::Ended(ended)));
        let over = r#"{ "type": "suite", "event": "ok", "passed": 1, "failed": 0 }"#;
        assert_eq!(read(over), Some(Event::Over));
        assert_eq!(read("seed 7 (repeat with SEED=7)"), None);
    }
}
