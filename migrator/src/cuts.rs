//! Places at which tests end the program on the spot, or hold it there.
//!
//! They are there under the feature `cuts` alone; a released program has none. The
//! environment names one: `SHARDID_CUT_AT=fenced/before-CarryOver` ends the program,
//! `SHARDID_HOLD_AT` holds it until its standard input ends. Where it comes to a place of one
//! name again, that is `left/slot#2`. `SHARDID_PLACES_TO` names a file, to which each place is
//! written that it comes to.

use std::fmt::Arguments;

/// A place in a change that tests cut: before and after each effect and state, as
/// `fenced/before-CarryOver`, or within one, as `left/slot`.
#[cfg(feature = "cuts")]
pub(crate) fn at(place: Arguments<'_>) {
    let place = numbered(place.to_string());
    if let Some(path) = std::env::var_os("SHARDID_PLACES_TO") {
        use std::io::Write;
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "{place}")).expect("a test can read the file");
    }
    let is_here = |name| std::env::var_os(name).is_some_and(|at| at == *place);
    if is_here("SHARDID_CUT_AT") {
        std::process::abort();
    }
    if is_here("SHARDID_HOLD_AT") {
        crate::talk::line(format_args!("held at {place}"));
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    }
}

/// The name of a place, with a number where the program was at one of that name before.
#[cfg(feature = "cuts")]
fn numbered(place: String) -> String {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};
    static TIMES: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let times = times.entry(place.clone()).or_default();
    *times += 1;
    if *times == 1 { place } else { format!("{place}#{times}") }
}

/// Nothing: what is released cannot be cut.
#[cfg(not(feature = "cuts"))]
pub(crate) fn at(_: Arguments<'_>) {}

#[cfg(all(test, not(feature = "cuts")))]
mod tests {
    #[test]
    fn a_released_program_cannot_be_cut() {
        let code = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["cuts::tests::goes_on", "--exact", "--ignored"])
            .env("SHARDID_CUT_AT", "here")
            .output()
            .unwrap();
        assert!(code.status.success(), "{code:?}");
    }

    #[test]
    #[ignore = "run by the test above, with a place in its environment"]
    fn goes_on() {
        super::at(format_args!("here"));
    }
}
