//! A server that is killed, with its clock set back while it is down.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use shardid_tests::my::{Engine, Server, query, try_query};
use shardid_tests::{Clock, assert_unique, on_both_engines, wait_until};

use crate::harness::{EndOf, ids, new_shard};

on_both_engines!(
    a_server_that_is_killed_under_load_repeats_nothing,
    a_server_that_is_killed_with_its_clock_set_back_repeats_nothing,
    a_kill_right_after_a_rollback_repeats_nothing,
);

fn a_server_that_is_killed_under_load_repeats_nothing(engine: Engine) {
    kill_under_load(engine, Clock::Real, &[0.0, 0.0, 0.0]);
}

fn a_server_that_is_killed_with_its_clock_set_back_repeats_nothing(engine: Engine) {
    kill_under_load(engine, Clock::AtStart, &[-2.0, -4.0, -6.0, -8.0]);
}

/// Eight clients of one shard; the server is killed once for each offset, and the
/// clock is there when it comes back.
fn kill_under_load(engine: Engine, clock: Clock, offsets: &[f64]) {
    let server = Server::builder(engine).clock(clock).start();
    let shard = new_shard(&server, "instagram");
    let (done, taken) = (AtomicBool::new(false), AtomicUsize::new(0));
    let got: Vec<(usize, Vec<i64>)> = scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|session| {
                let (server, done, taken) = (&server, &done, &taken);
                scope.spawn(move || {
                    let sql = format!("SELECT shardid.next_id({shard})");
                    let mut got = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        let Ok(mut client) = server.try_connect() else {
                            sleep(Duration::from_millis(2));
                            continue;
                        };
                        while !done.load(Ordering::Relaxed) {
                            match try_query::<i64>(&mut client, &sql) {
                                Ok(id) => {
                                    taken.fetch_add(id.len(), Ordering::Relaxed);
                                    got.extend(id);
                                }
                                Err(refused) => {
                                    assert!(
                                        refused.sqlstate.is_empty()
                                            || refused.sqlstate.starts_with("08"),
                                        "{refused:?}"
                                    );
                                    break;
                                }
                            }
                        }
                    }
                    (session, got)
                })
            })
            .collect();
        let end = EndOf(&done);
        // Each is a commit, which waits for the disk; and MySQL is slow with a clock of ours.
        let take_some = || {
            let before = taken.load(Ordering::Relaxed);
            wait_until(Duration::from_secs(60), "ids", || {
                taken.load(Ordering::Relaxed) >= before + 20
            });
            sleep(Duration::from_millis(200));
        };
        for offset in offsets {
            take_some();
            server.kill9();
            if clock != Clock::Real {
                server.set_clock(*offset);
            }
            server.start();
        }
        take_some();
        drop(end);
        threads.into_iter().map(|thread| thread.join().expect("no client has an error")).collect()
    });
    let all = assert_unique(&got);
    assert!(all >= 20 * (offsets.len() + 1), "only {all} ids");
}

fn a_kill_right_after_a_rollback_repeats_nothing(engine: Engine) {
    // What is taken right after the rollback is committed, and the counter with it.
    let server = Server::builder(engine).clock(Clock::AtStart).start();
    let shard = new_shard(&server, "instagram");
    let mut all = Vec::new();
    for round in 0..5 {
        let client = &mut server.connect();
        query::<u64>(client, "START TRANSACTION");
        all.extend(ids(client, shard, 300));
        query::<u64>(client, "ROLLBACK");
        all.extend(ids(client, shard, 20));
        server.kill9();
        server.set_clock(-1.5 * f64::from(round + 1));
        server.start();
    }
    assert_eq!(assert_unique(&[("all", all)]), 1600);
}
