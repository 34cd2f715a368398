//! Sequences of which nobody knows how they go on give nothing, and are named.

use shardid_tests::estate::{DATABASE, Estate};

use crate::gone::shard_on;
use crate::shared;
use crate::switched::{fail_over, standby_behind};

/// Whether a sequence of a shard gives a number.
fn gives(estate: &Estate, node: &str, shard: u32, name: &str) -> bool {
    let next = format!("SELECT nextval('shard_{shard:04}.{name}')");
    estate.node(node).try_psql(DATABASE, &next).is_ok()
}

/// Those that two names were changed for went on where the other had stood, and gave its numbers again; one with a new name stayed closed
/// without a word. Of one that was made anew nobody knows how it goes on.
#[test]
fn sequences_that_were_renamed_on_a_closed_copy_go_on_where_they_stood() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let number = shard.to_string();
    let take = |name: &str, count: u32| {
        format!("SELECT max(nextval('shard_{shard:04}.{name}')) FROM generate_series(1, {count})")
    };
    let mut all = vec![("bill", 7), ("one", 1000), ("other", 5), ("gone", 40), ("kept", 3)];
    for (name, count) in &all {
        estate.psql("pg1", &format!("CREATE SEQUENCE shard_{shard:04}.{name}"));
        assert_eq!(estate.psql("pg1", &take(name, *count)), count.to_string());
    }
    let id_of = |node: &str, name: &str| -> i64 {
        let next = format!("SELECT next_id_from('shard_{shard:04}.{name}')");
        estate.psql(node, &next).parse().unwrap()
    };
    estate.psql(
        "pg1",
        &format!("SELECT create_id_sequence('shard_{shard:04}.{{}}', {shard}, 'uidgenerator')")
            .replace("{}", "fast"),
    );
    estate.psql("pg1", &format!("SELECT create_id_sequence('shard_{shard:04}.slow', {shard})"));
    // Some seconds ahead of the clock.
    let fast =
        format!("SELECT max(next_id_from('shard_{shard:04}.fast')) FROM generate_series(1, 70000)");
    let fast: i64 = estate.psql("pg1", &fast).parse().unwrap();
    let slow = id_of("pg1", "slow");
    // It gives nothing anywhere.
    estate.psql(
        "pg1",
        &format!("CREATE SEQUENCE shard_{shard:04}.used MAXVALUE 2; {}", take("used", 2)),
    );
    estate.run_cut("switched/before-OpenTarget", &["move", &number, "--to", "pg2", "--yes"]);
    let rename = |from: &str, to: &str| {
        estate.psql("pg2", &format!("ALTER SEQUENCE shard_{shard:04}.{from} RENAME TO {to}"));
    };
    rename("bill", "invoice");
    rename("one", "aside");
    rename("other", "one");
    rename("aside", "other");
    rename("fast", "aside");
    rename("slow", "fast");
    rename("aside", "slow");
    estate.psql("pg2", &format!("DROP SEQUENCE shard_{shard:04}.gone; CREATE SEQUENCE shard_{shard:04}.gone MAXVALUE 9; {}", take("gone", 9)));
    let id = estate.last_move(shard);
    let resumed = estate.run(&["resume", &id]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let words = format!(
        "shard {shard}: pg2 does not know how these sequences went on, and they give nothing: shard_{shard:04}.gone;"
    );
    assert!(resumed.stderr.contains(&words), "{}", resumed.stderr);
    assert!(!gives(estate, "pg2", shard, "gone") && !gives(estate, "pg2", shard, "used"));
    all = vec![("invoice", 7), ("one", 5), ("other", 1000), ("kept", 3)];
    for (name, stood) in all {
        assert_eq!(estate.psql("pg2", &take(name, 1)), (stood + 1).to_string(), "{name}");
    }
    let (slow_now, fast_now) = (id_of("pg2", "fast"), id_of("pg2", "slow"));
    assert!(slow_now > slow && fast_now > fast, "{slow_now} after {slow}, {fast_now} after {fast}");
    // What was said to help does.
    estate.psql("pg2", &format!("ALTER SEQUENCE shard_{shard:04}.gone MINVALUE 1 MAXVALUE 99; SELECT setval('shard_{shard:04}.gone', 40)"));
    assert_eq!(estate.psql("pg2", &take("gone", 1)), "41");
}

/// A rename waits for no fence: it came after the last look at the definitions, and before the sequences were held.
#[test]
fn sequences_that_are_renamed_behind_the_fence_send_it_back() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let of = |sql: &str| sql.replace('@', &format!("shard_{shard:04}"));
    estate.psql("pg1", &of("CREATE TABLE @.t (id bigint PRIMARY KEY); CREATE SEQUENCE @.up1; CREATE SEQUENCE @.up2; SELECT nextval('@.up1') FROM generate_series(1, 9)"));
    let number = shard.to_string();
    let mut held = estate.run_held(
        "carry/looked",
        &["move", &number, "--to", "pg2", "--yes", "--fence-seconds-max", "60"],
    );
    estate.psql("pg1", &of("ALTER SEQUENCE @.up1 RENAME TO x; ALTER SEQUENCE @.up2 RENAME TO up1; ALTER SEQUENCE @.x RENAME TO up2"));
    held.go_on();
    let run = held.end();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("was changed during the move"), "{}", run.stderr);
    let id = estate.last_move(shard);
    estate.run(&["abort", &id, "--yes"]).ok();
    assert_eq!(estate.home(shard), "pg1");
    assert_eq!(estate.psql("pg1", &of("SELECT nextval('@.up2')")), "10");
}

/// Statements that open a copy are made by number, and wait for who is at work on it; then they found another one by the name.
#[test]
fn a_copy_is_not_opened_by_names_that_are_given_to_others_meanwhile() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let of = |sql: &str| sql.replace('@', &format!("shard_{shard:04}"));
    estate.psql("pg1", &of("CREATE SEQUENCE @.up1; CREATE SEQUENCE @.up2; SELECT nextval('@.up1') FROM generate_series(1, 9)"));
    let number = shard.to_string();
    estate.run_cut("switched/before-OpenTarget", &["move", &number, "--to", "pg2", "--yes"]);
    let mut owner = estate.node("pg2").connect(DATABASE);
    owner.batch_execute(&of("BEGIN; ALTER SEQUENCE @.up1 RENAME TO x; ALTER SEQUENCE @.up2 RENAME TO up1; ALTER SEQUENCE @.x RENAME TO up2")).unwrap();
    let id = estate.last_move(shard);
    let resumed = std::thread::scope(|scope| {
        let resumed = scope.spawn(|| estate.run(&["resume", &id]));
        shardid_tests::wait_until(
            std::time::Duration::from_secs(60),
            "resume waits for the owner",
            || {
                estate.psql("pg2", "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'shardid%'") != "0"
            },
        );
        owner.batch_execute("COMMIT").unwrap();
        resumed.join().expect("it does not panic")
    });
    if resumed.code != 0 {
        assert!(resumed.stderr.contains("resume"), "{}", resumed.stderr);
        estate.run(&["resume", &id]).ok();
    }
    let next = |name: &str| estate.psql("pg2", &of(&format!("SELECT nextval('@.{name}')")));
    assert_eq!(["up1", "up2"].map(next), ["1", "10"], "{}", resumed.stderr);
}

/// Each got the bounds of the other.
#[test]
fn sequences_that_were_renamed_where_a_shard_goes_back_to_have_their_own_bounds_again() {
    let estate = Estate::start(2, 4);
    let (shard, _) = crate::catalog::shard_on_pg1(&estate);
    let of = |sql: &str| sql.replace('@', &format!("shard_{shard:04}"));
    estate.psql("pg1", &of("CREATE SEQUENCE @.up MAXVALUE 1000; CREATE SEQUENCE @.down INCREMENT -1; CREATE SEQUENCE @.new; SELECT nextval('@.up'), nextval('@.down'), nextval('@.new') FROM generate_series(1, 9)"));
    let number = shard.to_string();
    estate.run_cut("switched/after-GuardSource", &["move", &number, "--to", "pg2", "--yes"]);
    estate.psql("pg1", &of("ALTER SEQUENCE @.up RENAME TO aside; ALTER SEQUENCE @.down RENAME TO up; ALTER SEQUENCE @.aside RENAME TO down; ALTER SEQUENCE @.new RENAME TO newer"));
    let id = estate.last_move(shard);
    estate.node("pg2").kill9();
    let back = estate.run(&["abort", &id, "--gone", "pg2", "--yes"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(!back.stderr.contains("give nothing"), "{}", back.stderr);
    let next = |name: &str| estate.psql("pg1", &of(&format!("SELECT nextval('@.{name}')")));
    assert_eq!(["up", "down", "newer"].map(next), ["-10", "10", "10"]);
    let most = "SELECT seqmax FROM pg_sequence WHERE seqrelid = '@.down'::regclass";
    assert_eq!(estate.psql("pg1", &of(most)), "1000");
}

/// The shard was open nowhere, and the word that was named failed for ever.
#[test]
fn a_closed_copy_whose_own_sequence_is_gone_is_opened_when_there_is_one_again() {
    for (how, mend) in [
        (
            "ALTER SEQUENCE @.shard_id_seq RENAME TO mine",
            "ALTER SEQUENCE @.mine RENAME TO shard_id_seq",
        ),
        (
            "DROP SEQUENCE @.shard_id_seq CASCADE; DROP SEQUENCE @.more",
            "CREATE SEQUENCE @.shard_id_seq",
        ),
        (
            "DROP SEQUENCE @.shard_id_seq CASCADE; DROP SEQUENCE @.more; ALTER SEQUENCE @.plain RENAME TO shard_id_seq; ALTER SEQUENCE @.wheel RENAME TO more",
            "ALTER SEQUENCE @.shard_id_seq RENAME TO plain; CREATE SEQUENCE @.shard_id_seq",
        ),
    ] {
        let (estate, shard) = (shared::estate(), shared::shard());
        let of = |sql: &str| sql.replace('@', &format!("shard_{shard:04}"));
        let last: i64 = estate.psql("pg1", &format!("SELECT next_id({shard})")).parse().unwrap();
        let number = shard.to_string();
        estate.psql("pg1", &of(&format!("SELECT create_id_sequence('@.more', {shard}); CREATE SEQUENCE @.plain; CREATE SEQUENCE @.wheel MAXVALUE 1000 CYCLE")));
        estate.run_cut("switched/before-OpenTarget", &["move", &number, "--to", "pg2", "--yes"]);
        estate.psql("pg2", &of(how));
        let id = estate.last_move(shard);
        let refused = estate.run(&["resume", &id]);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        let words = format!(
            "there is no sequence shard_{shard:04}.shard_id_seq, from which shard {shard} would give ids"
        );
        assert!(refused.stderr.contains(&words), "{}", refused.stderr);
        estate.psql("pg2", &of(mend));
        let resumed = estate.run(&["resume", &id]);
        assert_eq!(resumed.code, 0, "{}", resumed.stderr);
        let missing = of("id sequence @.more (layout instagram) is not on pg2");
        assert_eq!(
            resumed.stderr.contains(&missing),
            how.contains("SEQUENCE @.more"),
            "{}",
            resumed.stderr
        );
        let next: i64 = estate.psql("pg2", &format!("SELECT next_id({shard})")).parse().unwrap();
        assert!(next > last, "{next} after {last}");
    }
}

/// What a source shows that was promoted without its fence is behind what was given, and numbers came again.
#[test]
fn sequences_give_nothing_where_the_note_is_lost_and_the_source_was_promoted() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    let number = shard.to_string();
    estate.psql("pg2", &format!("{write}; CREATE SEQUENCE shard_{shard:04}.bill"));
    let mut held = estate.run_held_then_cut(
        "following/before-LowerFence",
        "switched/before-GuardSource",
        &["move", &number, "--to", "pg3", "--yes"],
    );
    let standby = standby_behind(&estate, "pg2");
    estate.psql(
        "pg2",
        &format!("SELECT nextval('shard_{shard:04}.bill') FROM generate_series(1, 9)"),
    );
    let last = estate.psql("pg2", &format!("SELECT next_id({shard})"));
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg2", standby);
    // As where the target was promoted as well.
    estate.psql(
        "pg3",
        "SELECT format('COMMENT ON SUBSCRIPTION %I IS NULL', subname) FROM pg_subscription WHERE subname ~ '^shardid_move_' \\gexec",
    );
    let resumed = estate.run(&["resume", &id, "--accept-loss"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let words =
        format!("they give nothing: shard_{shard:04}.bill, shard_{shard:04}.line_serial_seq;");
    assert!(resumed.stderr.contains(&words), "{}", resumed.stderr);
    assert!(!gives(&estate, "pg3", shard, "bill"));
    let next = estate.psql("pg3", &format!("SELECT next_id({shard})"));
    assert!(next.parse::<i64>().unwrap() > last.parse::<i64>().unwrap(), "{next} after {last}");
}
