//! What the rules cost without a server: `cargo bench --package shardid-ids`.

use divan::{Bencher, black_box};
use shardid_ids::{
    ConcealKey, Layout, Position, advance, builtin, decode_text, encode_text, renew,
};

fn main() {
    divan::main();
}

const ID: i64 = 235_086_380_428_956_672;

fn layout() -> Layout {
    builtin("instagram").expect("it comes with the crate")
}

#[divan::bench]
fn next_position(bencher: Bencher<'_, '_>) {
    let last = Some(Position { tick: 1_000_000, slot: 7 });
    bencher.bench(|| advance(black_box(last), 1_000_000, 10_000, 1024, 1 << 41));
}

#[divan::bench]
fn renew_a_lease() -> shardid_ids::Renewal {
    renew(black_box(1_000_000), Some(1_000_500), 1_024_000, 512_000, 10_240_000, 1 << 50)
}

#[divan::bench]
fn put_an_id_together(bencher: Bencher<'_, '_>) {
    let layout = layout();
    let shard = layout.shard(5).expect("it has 8192");
    let at = Position { tick: 1_000_000, slot: 7 };
    bencher.bench(|| layout.id(black_box(shard), black_box(at)));
}

#[divan::bench]
fn take_an_id_apart(bencher: Bencher<'_, '_>) {
    let layout = layout();
    bencher.bench(|| layout.decode(black_box(ID)));
}

#[divan::bench]
fn id_to_text() -> String {
    encode_text(black_box(ID.unsigned_abs()))
}

#[divan::bench]
fn id_from_text(bencher: Bencher<'_, '_>) {
    let text = encode_text(ID.unsigned_abs());
    bencher.bench(|| decode_text(black_box(&text)));
}

#[divan::bench]
fn conceal_an_id(bencher: Bencher<'_, '_>) {
    let key = ConcealKey::new(&[7; 32]).expect("it is long enough");
    bencher.bench(|| key.conceal(black_box(ID)));
}
