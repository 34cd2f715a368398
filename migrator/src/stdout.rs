//! How is data printed? What the program says beside it is in `talk.rs`.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// Prints data to stdout. A reader that has gone away has seen enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.map_err(|error| Failure::new(format!("could not write to stdout: {error}"))),
    }
}

/// Prints a value as JSON, with a line end.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value has a text");
    print(&format!("{text}\n"))
}
