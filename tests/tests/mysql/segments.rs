//! Segments.

use shardid_tests::my::{Engine, expect_refused, query, shared};
use shardid_tests::{assert_unique, on_both_engines};

use crate::harness::at_once;

on_both_engines!(
    segments_follow_each_other_and_may_change_their_step,
    segments_with_a_delta_hold_their_remainder,
    eight_clients_never_share_a_segment,
    refusals_of_segments_have_their_sqlstate,
    an_old_snapshot_cuts_a_segment_as_it_is_now,
);

fn segments_follow_each_other_and_may_change_their_step(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_segment('s1', 1000)");
    let mut next = |wanted: &str| {
        query::<(i64, i64, i64)>(client, &format!("CALL shardid.next_segment('s1', {wanted})"))[0]
    };
    assert_eq!(next("NULL"), (1, 1000, 1));
    assert_eq!(next("5"), (1001, 1005, 1));
    query::<u64>(client, "CALL shardid.alter_segment('s1', 10)");
    assert_eq!(
        query::<(i64, i64, i64)>(client, "CALL shardid.next_segment('s1', NULL)"),
        [(1006, 1015, 1)]
    );
    let columns =
        "SELECT biz_tag, max_id, step, delta, remainder FROM shardid.segments WHERE biz_tag = 's1'";
    assert_eq!(
        query::<(String, i64, i64, i64, i64)>(client, columns),
        [("s1".into(), 1015, 10, 1, 0)]
    );
}

fn segments_with_a_delta_hold_their_remainder(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_segment_of('s2', 10, 0, 2, 1)");
    let mut next = |wanted: &str| {
        query::<(i64, i64, i64)>(client, &format!("CALL shardid.next_segment('s2', {wanted})"))[0]
    };
    assert_eq!((next("NULL"), next("5"), next("5")), ((1, 9, 2), (11, 13, 2), (15, 19, 2)));
}

fn eight_clients_never_share_a_segment(engine: Engine) {
    let server = shared(engine);
    server.query("CALL shardid.create_segment('s3', 10)");
    let got = at_once(server, 8, |_, client| {
        (0..100)
            .flat_map(|_| {
                let (first, last, _) =
                    query::<(i64, i64, i64)>(client, "CALL shardid.next_segment('s3', NULL)")[0];
                first..=last
            })
            .collect::<Vec<i64>>()
    });
    assert_eq!(assert_unique(&got), 8000);
    assert_eq!(
        server.value::<i64>("SELECT max_id FROM shardid.segment WHERE biz_tag = 's3'"),
        8000
    );
}

fn refusals_of_segments_have_their_sqlstate(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_segment('s4', 7)");
    expect_refused(client, "CALL shardid.create_segment('s4', 7)", "42710");
    expect_refused(client, "CALL shardid.create_segment('s5', 0)", "22023");
    expect_refused(client, "CALL shardid.create_segment_of('s5', 7, 0, 2, 2)", "22023");
    expect_refused(client, "CALL shardid.next_segment('s4', 0)", "22023");
    expect_refused(client, "CALL shardid.next_segment('s5', 5)", "42704");
    expect_refused(client, "CALL shardid.alter_segment('s5', 5)", "42704");
    expect_refused(client, "CALL shardid.alter_segment('s4', 0)", "22023");
    query::<u64>(
        client,
        "UPDATE shardid.segment SET max_id = 9223372036854775800 WHERE biz_tag = 's4'",
    );
    query::<(i64, i64, i64)>(client, "CALL shardid.next_segment('s4', NULL)");
    expect_refused(client, "CALL shardid.next_segment('s4', 1)", "22003");
    query::<u64>(client, "CALL shardid.drop_segment('s4')");
    expect_refused(client, "CALL shardid.drop_segment('s4')", "42704");
}

/// Its delta was that of the snapshot, and even numbers came out of a tag that has odd ones.
fn an_old_snapshot_cuts_a_segment_as_it_is_now(engine: Engine) {
    let (client, other) = (&mut shared(engine).connect(), &mut shared(engine).connect());
    query::<u64>(client, "CALL shardid.create_segment('s9', 10)");
    query::<u64>(client, "START TRANSACTION");
    query::<i64>(client, "SELECT max_id FROM shardid.segments WHERE biz_tag = 's9'");
    query::<u64>(other, "CALL shardid.drop_segment('s9')");
    query::<u64>(other, "CALL shardid.create_segment_of('s9', 10, 1000, 2, 1)");
    let taken = query::<(i64, i64, i64)>(client, "CALL shardid.next_segment('s9', NULL)");
    query::<u64>(client, "COMMIT");
    assert_eq!(taken, [(1001, 1009, 2)]);
}
