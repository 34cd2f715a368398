//! The check that everything else serves: is there an id that came twice?

use std::fmt::Display;

/// An id that was handed out more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The id.
    pub id: i64,
    /// Who got it: a session that got it twice is named twice.
    pub sessions: Vec<String>,
}

/// Looks for an id that came twice, within a session or between two.
///
/// Sorts a copy of all ids: half a second for ten million, in eight bytes each.
pub fn find_duplicate<S: Display>(sessions: &[(S, Vec<i64>)]) -> Option<Duplicate> {
    let mut all: Vec<i64> = Vec::with_capacity(sessions.iter().map(|(_, ids)| ids.len()).sum());
    for (_, ids) in sessions {
        all.extend_from_slice(ids);
    }
    all.sort_unstable();
    let id = all.windows(2).find(|pair| pair[0] == pair[1])?[0];
    let sessions = sessions
        .iter()
        .flat_map(|(name, ids)| {
            let times = ids.iter().filter(|other| **other == id).count();
            std::iter::repeat_n(name.to_string(), times)
        })
        .collect();
    Some(Duplicate { id, sessions })
}

/// Asserts that no id came twice, and returns how many there are.
///
/// # Panics
///
/// With the lowest id that came twice and the sessions that got it.
#[track_caller]
pub fn assert_unique<S: Display>(sessions: &[(S, Vec<i64>)]) -> usize {
    if let Some(Duplicate { id, mut sessions }) = find_duplicate(sessions) {
        let times = sessions.len();
        sessions.dedup();
        panic!("id {id} came {times} times: to {}", sessions.join(" and to "));
    }
    sessions.iter().map(|(_, ids)| ids.len()).sum()
}

/// Asserts that the ids of one session rise from each to the next.
///
/// # Panics
///
/// With the first two that do not.
#[track_caller]
pub fn assert_rising(ids: &[i64]) {
    if let Some(at) = ids.windows(2).position(|pair| pair[0] >= pair[1]) {
        panic!(
            "ids must rise within a session: number {at} is {}, and the next {}",
            ids[at],
            ids[at + 1]
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_duplicate_is_found_and_its_sessions_named() {
        let mut sessions: Vec<(usize, Vec<i64>)> = (0..4)
            .map(|session| (session, (0..1000).map(|n| n * 4 + session as i64).collect()))
            .collect();
        assert_eq!(assert_unique(&sessions), 4000);
        sessions[3].1[700] = 41;
        let duplicate = find_duplicate(&sessions).expect("41 was planted");
        assert_eq!(duplicate.id, 41);
        assert_eq!(duplicate.sessions, ["1", "3"]);
    }

    #[test]
    fn a_session_that_repeats_itself_is_found() {
        let duplicate = find_duplicate(&[("only", vec![7, 8, 9, 7])]).expect("7 was planted");
        assert_eq!(duplicate.sessions, ["only", "only"]);
    }

    #[test]
    fn a_generator_known_to_repeat_is_caught() {
        // Instagram's function: a counter that is not tied to the millisecond.
        let ids = (0..5000).map(|n: i64| ((n / 3000) << 23) | (n % 1024)).collect();
        assert!(find_duplicate(&[("instagram", ids)]).is_some());
    }

    #[test]
    #[should_panic(expected = "number 1 is 5, and the next 5")]
    fn an_id_that_does_not_rise_is_found() {
        assert_rising(&[1, 5, 5, 6]);
    }
}
