//! Ctrl-C, and the signals by which a session or a machine ends.
//!
//! Where several moves are made, the first lets those under way go on to their
//! end and begins no new one, the second has them stop where they can stand. A
//! single move stops there at the first. One more cuts, wherever it is.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use super::progress::line;
use crate::failure::Failure;

/// Nobody asked for anything; begin nothing new; stop where a move can stand.
const GO_ON: u8 = 0;
const BEGIN_NOTHING: u8 = 1;
const STAND: u8 = 2;

static ASKED: AtomicU8 = AtomicU8::new(GO_ON);

/// Woken when the moves under way are asked to stop.
static STANDING: Notify = Notify::const_new();

/// Whether no new move is to begin.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed) >= BEGIN_NOTHING
}

/// Whether the moves under way are to stop where they can stand.
pub(crate) fn asked_to_stand() -> bool {
    ASKED.load(Ordering::Relaxed) >= STAND
}

/// Fails where the moves under way are to stop where they can stand.
pub(super) fn check_stop() -> Result<(), Failure> {
    if asked_to_stand() { Err(Failure::new("stopped as you asked")) } else { Ok(()) }
}

/// Returns once the moves under way are to stop where they can stand.
pub(super) async fn standing() {
    loop {
        let woken = STANDING.notified();
        if asked_to_stand() {
            return;
        }
        woken.await;
    }
}

/// Has no new move begin.
pub(crate) fn stop() {
    ASKED.fetch_max(BEGIN_NOTHING, Ordering::Relaxed);
}

/// Watches for signals as long as the program runs. `several`: whether moves
/// under way may be left to go on to their end.
pub(crate) fn watch_for_interrupts(several: bool) {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        // Without a handler a signal ends the program on the spot, as ever.
        let Ok(mut signals) = signal(kind) else { continue };
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                heard(several);
            }
        });
    }
}

fn heard(several: bool) {
    match (ASKED.load(Ordering::Relaxed), several) {
        (GO_ON, true) => {
            ASKED.store(BEGIN_NOTHING, Ordering::Relaxed);
            line(
                "no new move begins, and those under way are finished; press Ctrl-C again to stop them",
            );
        }
        (GO_ON | BEGIN_NOTHING, _) => {
            ASKED.store(STAND, Ordering::Relaxed);
            STANDING.notify_waiters();
            line("stopping at the next safe point; press Ctrl-C again to quit now");
        }
        _ => {
            line("interrupted: `shardid moves` shows what is unfinished");
            std::process::exit(3);
        }
    }
}
