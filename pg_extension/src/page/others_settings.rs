//! What settings are for others than this session.

use core::ffi::CStr;
use std::ffi::CString;

use pgrx::{FromDatum, pg_sys};

/// What a number among the settings is for every session of this user in this database,
/// whatever this one has set; 0 for what is none.
pub(crate) fn setting_of_all(name: &'static CStr) -> i64 {
    // SAFETY: returns a text in memory of the server's, which is read before the next call.
    let text = unsafe { pg_sys::GetConfigOptionResetString(name.as_ptr()) };
    if text.is_null() {
        return 0;
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The largest value that a setting in milliseconds has for any role or database of this server,
/// whoever asks; `None` where it is set for none of them.
pub(crate) fn largest_setting_of_any(name: &str) -> Option<i64> {
    let mut largest = None;
    // SAFETY: an ordinary scan of a catalog, whose third column is an array of texts that is never
    // null. If something raises an error, the end of the transaction closes both.
    unsafe {
        let home = pg_sys::Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
        let settings = pg_sys::get_relname_relid(c"pg_db_role_setting".as_ptr(), home);
        let relation = pg_sys::table_open(settings, pg_sys::AccessShareLock as _);
        let (none, now) = (pg_sys::Oid::INVALID, std::ptr::null_mut());
        let scan = pg_sys::systable_beginscan(relation, none, false, now, 0, std::ptr::null_mut());
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let mut is_null = false;
            let settings = pg_sys::heap_getattr(tuple, 3, (*relation).rd_att, &mut is_null);
            if !is_null {
                for setting in texts_of(settings) {
                    largest = largest.max(milliseconds_in(&setting, name));
                }
            }
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as _);
    }
    largest
}

/// The texts of an array, copied.
///
/// # Safety
/// The datum is an array of texts.
unsafe fn texts_of(array: pg_sys::Datum) -> Vec<Vec<u8>> {
    let (mut elements, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    let align = pg_sys::TYPALIGN_INT as core::ffi::c_char;
    // SAFETY: as the caller says; what is stored in another form is made plain first.
    unsafe {
        let array = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let (text, length) = (pg_sys::TEXTOID, -1);
        pg_sys::deconstruct_array(
            array,
            text,
            length,
            false,
            align,
            &mut elements,
            &mut nulls,
            &mut count,
        );
        (0..usize::try_from(count).unwrap_or(0))
            .filter_map(|i| <&[u8]>::from_datum(*elements.add(i), *nulls.add(i)))
            .map(<[u8]>::to_vec)
            .collect()
    }
}

/// The value of `name=value`, as the server reads one in milliseconds.
fn milliseconds_in(setting: &[u8], name: &str) -> Option<i64> {
    let at = setting.iter().position(|&byte| byte == b'=')?;
    let (of, value) = (&setting[..at], &setting[at + 1..]);
    let value = CString::new(value).ok().filter(|_| of.eq_ignore_ascii_case(name.as_bytes()))?;
    let mut ms = 0;
    // SAFETY: reads a text and writes a number.
    let is_number = unsafe {
        pg_sys::parse_int(value.as_ptr(), &mut ms, pg_sys::GUC_UNIT_MS as _, std::ptr::null_mut())
    };
    is_number.then_some(i64::from(ms))
}
