//! What several of these tests need: many clients at once, and a shard of one's own.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::scope;

use shardid_tests::my::{Server, query};
use shardid_tests::mysql::Conn;

/// Makes a shard that no other test uses, and returns its number.
pub(crate) fn new_shard(server: &Server, layout: &str) -> u32 {
    // One of these layouts has only a hundred.
    static FEW: AtomicU32 = AtomicU32::new(10);
    static MANY: AtomicU32 = AtomicU32::new(256);
    let next = if matches!(layout, "decimal19" | "js53") { &FEW } else { &MANY };
    let shard = next.fetch_add(1, Ordering::Relaxed);
    server.query(&format!("CALL shardid.create_shard({shard}, '{layout}')"));
    shard
}

/// Takes so many ids in one session, a statement each.
pub(crate) fn ids(client: &mut Conn, shard: u32, count: usize) -> Vec<i64> {
    let sql = format!("SELECT shardid.next_id({shard})");
    (0..count).map(|_| query::<i64>(client, &sql)[0]).collect()
}

/// Runs something in so many sessions at once, and returns what each had.
pub(crate) fn at_once<T: Send>(
    server: &Server,
    sessions: usize,
    work: impl Fn(usize, &mut Conn) -> Vec<T> + Sync,
) -> Vec<(usize, Vec<T>)> {
    scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..sessions)
            .map(|session| scope.spawn(move || (session, work(session, &mut server.connect()))))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a session ends well")).collect()
    })
}

/// Ends the clients that look at a flag, also where a test fails in between.
pub(crate) struct EndOf<'a>(pub(crate) &'a AtomicBool);

impl Drop for EndOf<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
