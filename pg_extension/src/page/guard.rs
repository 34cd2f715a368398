//! What a function needs that PostgreSQL calls without pgrx in between: to be declared, and a
//! guard that turns errors into PostgreSQL's.

use core::ffi::c_char;

use pgrx::pg_sys::{self, Datum};

use super::{ffi, text};
use crate::report::{Report, sqlstate_number};

/// Declares that functions of these names take their arguments the new way.
macro_rules! describe {
    ($($info:ident),*) => {$(
        /// Tells PostgreSQL that the function of that name takes arguments the new way.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $info() -> &'static pgrx::pg_sys::Pg_finfo_record {
            static RECORD: pgrx::pg_sys::Pg_finfo_record =
                pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &RECORD
        }
    )*};
}
pub(super) use describe;

/// Runs Rust that may fail or panic, and turns what comes out into PostgreSQL's.
///
/// Kept out of line, so that handing out the next id of a block saves no registers for it.
#[cold]
#[inline(never)]
pub(super) fn guarded(body: impl FnOnce() -> Result<i64, Report>) -> Datum {
    // SAFETY: only called at the top of functions that PostgreSQL calls, with nothing left
    // to drop. The error's texts are copied inside, where Rust may still unwind.
    unsafe {
        match pg_sys::panic::pgrx_extern_c_guard(|| body().map_err(Message::new)) {
            Ok(value) => Datum::from(value),
            Err(message) => message.raise(),
        }
    }
}

/// An error in PostgreSQL's own memory.
#[derive(Clone, Copy)]
struct Message {
    sqlstate: i32,
    message: *const c_char,
    detail: *const c_char,
    hint: *const c_char,
}

impl Message {
    fn new(report: Report) -> Self {
        Self {
            sqlstate: sqlstate_number(report.sqlstate),
            message: copy(Some(&report.message)),
            detail: copy(report.detail.as_deref()),
            hint: copy(report.hint.as_deref()),
        }
    }

    /// Raises the error and leaves the function that called.
    ///
    /// # Safety
    /// Outside of any guard, with nothing left to drop.
    unsafe fn raise(self) -> ! {
        // SAFETY: the texts outlive the error, and the formats take one each.
        unsafe {
            ffi::errstart(pgrx::PgLogLevel::ERROR as i32, std::ptr::null());
            ffi::errcode(self.sqlstate);
            ffi::errmsg(c"%s".as_ptr(), self.message);
            if !self.detail.is_null() {
                ffi::errdetail(c"%s".as_ptr(), self.detail);
            }
            if !self.hint.is_null() {
                ffi::errhint(c"%s".as_ptr(), self.hint);
            }
            ffi::errfinish(c"shardid".as_ptr(), 0, c"next_id".as_ptr());
        }
        unreachable!("an error does not return")
    }
}

/// A copy of a text in PostgreSQL's memory and its encoding, or null.
fn copy(text: Option<&str>) -> *const c_char {
    text.map_or(std::ptr::null(), text::to_server)
}
