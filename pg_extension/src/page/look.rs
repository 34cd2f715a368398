//! What the page of a sequence says to who only reads it, whichever its file is.

use pgrx::pg_sys;
use shardid_ids::{self as ids, File};

use super::backend::Timeline;
use super::ffi;
use super::held::{Page, Unusable, file_of};

/// Where a sequence stands, whichever its file is: its `last_value` and `is_called`.
///
/// By its number. A query by its name reads whatever has that name by now; a view would run
/// the functions of its owner with the rights of whoever reads it.
pub(crate) fn stand(sequence: pg_sys::Oid) -> Result<(i64, bool), Unusable> {
    look(sequence, |seen, _| (seen.last_value, seen.is_called))
}

/// Whether the page says where the generator stands: it was begun here, or has given ids here,
/// and has not come from elsewhere since.
pub(crate) fn is_begun(sequence: pg_sys::Oid, timeline: Timeline) -> bool {
    let own = look(sequence, |seen, file| {
        seen.trace_of(File { timeline: timeline.number, ..file }).is_some()
    });
    own.unwrap_or(false)
}

/// Reads the page of any sequence but a temporary one, whichever its file is; the file that
/// `read` gets is of no timeline.
fn look<T>(sequence: pg_sys::Oid, read: impl FnOnce(ids::Page, File) -> T) -> Result<T, Unusable> {
    // SAFETY: one guard around the path; the relation is locked, and its page from
    // `Page::lock` to `UnlockReleaseBuffer`, with nothing in between that can fail.
    let looked = unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let relation = ffi::try_relation_open(sequence, pg_sys::AccessShareLock as _);
            if relation.is_null() {
                return Err(Unusable::Gone);
            }
            let class = &*(*relation).rd_rel;
            let page = if class.relkind as u8 != pg_sys::RELKIND_SEQUENCE {
                Err(Unusable::NotASequence)
            } else if class.relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP {
                Err(Unusable::NotPermanent)
            } else {
                Page::lock(ffi::ReadBuffer(relation, 0))
            };
            let looked = page.map(|page| {
                let seen = page.seen();
                ffi::UnlockReleaseBuffer(page.buffer);
                (seen, file_of(relation).of_timeline(0))
            });
            ffi::relation_close(relation, pg_sys::NoLock as _);
            looked
        })
    };
    looked.map(|(seen, file)| read(seen, file))
}
