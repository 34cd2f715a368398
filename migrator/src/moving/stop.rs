//! Ctrl-C: once to stop where a move can stand, twice to stop at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::talk;

static STOPPING: AtomicBool = AtomicBool::new(false);

/// Whether somebody asked to stop.
pub(crate) fn asked() -> bool {
    STOPPING.load(Ordering::Relaxed)
}

/// Has everything stop where it can stand.
pub(crate) fn stop() {
    STOPPING.store(true, Ordering::Relaxed);
}

/// Watches for Ctrl-C as long as the program runs.
pub(crate) fn watch_for_interrupts() {
    tokio::spawn(async {
        while tokio::signal::ctrl_c().await.is_ok() {
            if STOPPING.swap(true, Ordering::Relaxed) {
                talk::line("cut: `shardid moves` shows what is standing");
                std::process::exit(3);
            }
            talk::line("stopping where the move can stand; once more cuts it");
        }
    });
}
