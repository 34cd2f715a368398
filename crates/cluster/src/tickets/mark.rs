//! The mark that a look leaves on a server.

/// A mark that says of which look it is: those of one look have the same number.
pub fn mark_of_look(random: &str, look: u64) -> String {
    format!("{random}-{look}")
}

/// The number of a mark's look; 0 for one of a program that did not count them.
pub(crate) fn look_of(mark: &str) -> u64 {
    mark.rsplit_once('-').and_then(|(_, look)| look.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_its_look() {
        assert_eq!(mark_of_look("aBc", 17), "aBc-17");
        assert_eq!([look_of("aBc-17"), look_of("aBc"), look_of("restored")], [17, 0, 0]);
    }
}
