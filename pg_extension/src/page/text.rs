//! Texts of the server in Rust, which has them in UTF-8, whatever the database's encoding.
//!
//! pgrx takes the bytes of a text for UTF-8, and ends where they are not: nothing of a text goes
//! through it here.

use core::ffi::{CStr, c_char, c_int};
use std::borrow::Cow;

use pgrx::pg_sys::{self, Datum};

fn is_utf8() -> bool {
    // SAFETY: reads a variable.
    unsafe { pg_sys::GetDatabaseEncoding() == pg_sys::pg_enc::PG_UTF8 as c_int }
}

/// More bytes than any name, or id as text, has.
const LONGEST: usize = 1_000;

/// What a caller gives for a name, or for an id as text, in UTF-8. What is longer than any of these is
/// cut and ends in dots, which none of them does: Rust's memory is not PostgreSQL's, and where
/// it ends the server ends with it.
pub(crate) fn given(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.len() <= LONGEST {
        return from_server(bytes);
    }
    // SAFETY: looks at that many bytes.
    let whole = unsafe {
        pg_sys::pg_mbcliplen(bytes.as_ptr().cast(), bytes.len() as c_int, LONGEST as c_int)
    };
    Cow::Owned(format!("{}...", from_server(&bytes[..whole as usize])))
}

/// A text as the server has it. What is no text in a database that does not know its encoding
/// (`SQL_ASCII`) is an error of the server's (`22021`).
pub(super) fn from_server(bytes: &[u8]) -> Cow<'_, str> {
    if is_utf8() || bytes.is_ascii() {
        return String::from_utf8_lossy(bytes);
    }
    let utf8 = pg_sys::pg_enc::PG_UTF8 as c_int;
    // SAFETY: gives the same pointer, which has no end, or a new text, which has.
    unsafe {
        let start = bytes.as_ptr().cast::<c_char>();
        let converted = pg_sys::pg_server_to_any(start, bytes.len() as c_int, utf8);
        if core::ptr::eq(converted, start) {
            return String::from_utf8_lossy(bytes);
        }
        Cow::Owned(CStr::from_ptr(converted).to_string_lossy().into_owned())
    }
}

/// A text in the encoding of the database, ended by a zero, in PostgreSQL's memory.
pub(crate) fn to_server(text: &str) -> *const c_char {
    let utf8 = pg_sys::pg_enc::PG_UTF8 as c_int;
    // SAFETY: copies that many bytes and ends them with a zero; what is converted has one, and is
    // the copy itself where there is nothing to convert.
    unsafe {
        let copy = pg_sys::pnstrdup(text.as_ptr().cast(), text.len() as _);
        match is_utf8() || text.is_ascii() {
            true => copy,
            false => pg_sys::pg_any_to_server(copy, text.len() as c_int, utf8),
        }
    }
}

/// A text as a value for a function or a key.
pub(crate) fn datum(text: &str) -> Datum {
    let converted = to_server(text);
    // SAFETY: it ends with a zero.
    unsafe {
        let length = CStr::from_ptr(converted).to_bytes().len() as c_int;
        Datum::from(pg_sys::cstring_to_text_with_len(converted, length))
    }
}

/// What may be shown in any encoding: other characters by their number, as `\u00e4`.
///
/// For what pgrx raises, which hands UTF-8 to the server.
pub(crate) fn for_any(text: String) -> String {
    // SAFETY: reads a variable.
    let converts_nothing =
        unsafe { pg_sys::GetDatabaseEncoding() == pg_sys::pg_enc::PG_SQL_ASCII as c_int };
    if is_utf8() || converts_nothing || text.is_ascii() {
        return text;
    }
    let shown = |c: char| match c {
        c if c.is_ascii() => c.to_string(),
        c => format!("\\u{:04x}", c as u32),
    };
    text.chars().map(shown).collect()
}
