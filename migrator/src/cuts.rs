//! Places at which tests end the program on the spot, or hold it there.
//!
//! They are there under the feature `cuts` alone; a released program has none. The
//! environment names one: `SHARDID_CUT_AT=fenced/before-CarryOver` ends the program,
//! `SHARDID_HOLD_AT` holds it until its standard input ends.

use std::fmt::Arguments;

/// A place in a change that tests cut: before and after each effect and state, as
/// `fenced/before-CarryOver`, or within one, as `left/slot`.
#[cfg(feature = "cuts")]
pub(crate) fn at(place: Arguments<'_>) {
    let is_here = |name| std::env::var_os(name).is_some_and(|at| at == *place.to_string());
    if is_here("SHARDID_CUT_AT") {
        std::process::abort();
    }
    if is_here("SHARDID_HOLD_AT") {
        crate::talk::line(format_args!("held at {place}"));
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    }
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
