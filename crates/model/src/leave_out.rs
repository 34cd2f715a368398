//! How does the real function do without a mending? It is asked something else.

use shardid_ids::{Page, Request, Server, Trace, Visit};

use crate::layout::{layout, ticks_us};
use crate::mending::{Mending, Off};

/// Changes what the real function is asked, so that it does without a mending.
pub(crate) fn leave_out(off: Off, page: &mut Page, server: &mut Server, request: &mut Request<'_>) {
    let own = page.trace_of(server.file);
    request.trusts_new =
        (off.is(Mending::Replaces) && own.is_some()) || (off.is(Mending::Untold) && own.is_none());
    if off.is(Mending::Slot) && server.made_here {
        request.now_us = ticks_us(layout().tick_at(request.now_us) + 1) - 1;
    }
    if off.is(Mending::NoDrift) {
        server.made_here = false;
    }
    if off.is(Mending::Redo) {
        server.redo = 0;
    }
    if off.is(Mending::HorizonFirst) {
        request.horizon_us = i64::MAX;
    }
    let Some(trace) = &mut page.trace else { return };
    if off.is(Mending::File) {
        trace.file.number = server.file.number;
    }
    if off.is(Mending::Database) {
        trace.file.database = server.file.database;
    }
    if off.is(Mending::Timeline) {
        trace.file.timeline = server.file.timeline;
    }
    if off.is(Mending::Installation) {
        trace.installation = server.installation;
    }
    if off.is(Mending::Lsn) {
        trace.lsn = page.lsn;
    }
    if off.is(Mending::Last) {
        trace.last = -1;
    }
    if off.is(Mending::Chain) && request.flushed.until >= 0 {
        request.flushed.chain = trace.chain;
    }
}

/// What the visit leaves.
pub(crate) fn trace_left(visit: &Visit, server: &Server, lsn: u64, off: Off) -> Trace {
    let mut trace = visit.trace(server, lsn);
    if off.is(Mending::Uncommitted) && server.made_here && server.logged {
        trace.chain = lsn;
    }
    trace
}
