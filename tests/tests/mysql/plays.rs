//! Sessions made up from a seed: what nobody thought of. `make soak` has the long run.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use shardid_tests::my::{Engine, Ledger, Played, Plays};
use shardid_tests::{on_both_engines, seed};

on_both_engines!(
    plays_of_many_sessions_repeat_nothing,
    plays_find_what_other_functions_do_wrong,
    plays_find_what_goes_wrong_when_the_clock_steps_back,
);

fn plays_of_many_sessions_repeat_nothing(engine: Engine) {
    let plays = Plays::new(engine, seed(), None);
    let (mut played, mut steps) = (Played::default(), 0);
    // A busy machine plays few in 20 s.
    for _ in 0..9 {
        let until = Instant::now() + Duration::from_secs(20);
        played =
            plays.run(played.next_play, until, 10).unwrap_or_else(|finding| panic!("{finding}"));
        steps += played.steps;
        // MySQL ends by time only what has not begun to write.
        let timeouts = played.timeouts > 0 || engine == Engine::MySql;
        if played.ids > 300 && played.next_play >= 3 && steps > 0 && timeouts {
            return;
        }
    }
    panic!("{steps} steps of the clock, {played:?}");
}

/// The control: functions that are known to be wrong must be found out.
fn plays_find_what_other_functions_do_wrong(engine: Engine) {
    let read = |file: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/mysql/schema");
        fs::read_to_string(folder.join(file)).expect("the file is there")
    };
    let now = read("V21__draw_id.sql");
    let planted = now.replace("SET new_id =", "SET drawn = drawn - drawn % 2; SET new_id =");
    assert_ne!(planted, now);
    let repeats = [" came to ", " came after ", " stands in two rows"].as_slice();
    // The one of before left a user lock with a session that was killed, and repeated ids.
    let both = [repeats, &["the lock is", "could not take ids", "user-level lock"]].concat();
    let before =
        ["V13__position.sql", "V18__note_block.sql", "V14__next_id.sql"].map(read).concat();
    for (replace, expected) in [(planted, repeats), (before, &both)] {
        is_found_out(&Plays::new(engine, 5, Some(&replace)), expected);
    }
}

/// Plays until what was planted shows. It may show as something else first, a refusal
/// that it causes: plays of the right functions ask that there is none of those.
fn is_found_out(plays: &Plays, expected: &[&str]) {
    let until = Instant::now() + Duration::from_secs(240);
    let (mut play, mut others) = (0, Vec::new());
    loop {
        match plays.run(play, until, 0) {
            Ok(played) => panic!("{} plays found {others:?}", played.next_play),
            Err(found) if expected.iter().any(|said| found.what.contains(said)) => return,
            Err(found) => {
                play = found.play + 1;
                others.push(found.to_string());
            }
        }
    }
}

/// Another control, right but for a clock that is back by more than a second: only the
/// steps of the running server's clock find it out.
fn plays_find_what_goes_wrong_when_the_clock_steps_back(engine: Engine) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/mysql/schema");
    let now = fs::read_to_string(folder.join("V21__draw_id.sql")).expect("the file is there");
    let planted = now.replace(
        "SET new_id =",
        "SET clock = clock + timestampdiff(MICROSECOND, now(6), sysdate(6));
         SET drawn = if(drawn > clock + 1000000, clock + drawn % 4, drawn); SET new_id =",
    );
    assert_ne!(planted, now);
    // Its first play steps forward, its second back.
    let seed = 233;
    let plays = Plays::new(engine, seed, Some(&planted));
    is_found_out(&plays, &[" came to ", " came after ", " stands in two rows"]);
}

#[test]
fn a_planted_repeat_is_found_and_its_clients_named() {
    let ledger = Ledger::default();
    ledger.add(0, 41, "one").expect("it is new");
    ledger.add(1, 41, "two").expect("of another layout it is another id");
    let found = ledger.add(0, 41, "three").expect_err("it was planted");
    assert_eq!(found, "id 41 of instagram came to one and to three");
}
