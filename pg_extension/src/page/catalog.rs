//! Reads the extension's own tables, always as they are now.
//!
//! A statement's snapshot may be older than the fence it has just waited for,
//! so these reads use a catalog snapshot, as PostgreSQL's own lookups do. That
//! also works in parallel workers and needs no privilege on the tables. The
//! attribute numbers are those of `shardid--0.2.0.sql`; upgrades only append.

use core::ffi::CStr;

use pgrx::{FromDatum, IntoDatum, pg_sys};
use shardid_ids::Layout;

use super::text;

/// One row of `shardid.shard`.
pub(crate) struct ShardRow {
    pub(crate) shard: i32,
    pub(crate) layout: String,
    pub(crate) sequence: Option<pg_sys::Oid>,
    pub(crate) state: String,
    pub(crate) node: Option<String>,
    pub(crate) map_version: Option<i64>,
    pub(crate) system_identifier: Option<i64>,
    pub(crate) database: Option<String>,
}

/// Microseconds between the Unix epoch and PostgreSQL's.
pub(crate) const POSTGRES_EPOCH_US: i64 = 946_684_800_000_000;

/// The shard's row, if the database knows it.
pub(crate) fn shard(shard: i32) -> Option<ShardRow> {
    let mut found = None;
    scan(c"shard", Some((c"shard_pkey", pg_sys::F_INT4EQ, shard.into_datum()?)), |row| {
        found = shard_row(row);
    });
    found
}

/// How many shards can give ids here, and one of them.
pub(crate) fn shards_here() -> (u64, Option<i32>) {
    let (mut count, mut one) = (0, None);
    scan(c"shard", None, |row| {
        if let Some(row) = shard_row(row).filter(|r| r.sequence.is_some() && r.state != "dropped") {
            count += 1;
            one = Some(row.shard);
        }
    });
    (count, one)
}

/// Shard and layout of an id sequence made by `create_id_sequence`.
pub(crate) fn id_sequence(sequence: pg_sys::Oid) -> Option<(i32, String)> {
    let mut found = None;
    let key = (c"id_sequence_pkey", pg_sys::F_OIDEQ, sequence.into_datum()?);
    scan(c"id_sequence", Some(key), |row| {
        found = row.get(2).zip(row.text(3));
    });
    found
}

/// Whether an id sequence of that shard and layout is listed whose number is no relation's: it was
/// dropped, and nobody could write that down.
pub(crate) fn has_bare_id_sequence(shard: i32, layout: &str) -> bool {
    let mut found = false;
    scan(c"id_sequence", None, |row| {
        found |= row.get(2) == Some(shard)
            && row.text(3).as_deref() == Some(layout)
            && row.get(1).is_some_and(|sequence| !super::relations::is_there(sequence));
    });
    found
}

/// What is remembered of dropped id sequences of that shard and layout: what their ids are not
/// above, and whether there is one of which that is not known.
pub(crate) fn dropped_id_sequence(shard: i32, layout: &str) -> Option<(Option<i64>, bool)> {
    let mut found = None;
    let key = (c"dropped_id_sequence_pkey", pg_sys::F_INT4EQ, shard.into_datum()?);
    scan(c"dropped_id_sequence", Some(key), |row| {
        if row.text(2).as_deref() == Some(layout) {
            found = Some((row.get(3), row.get(4).unwrap_or(false)));
        }
    });
    found
}

/// Whether this transaction has dropped an id sequence of that shard and layout, which a rollback
/// would bring back.
pub(crate) fn has_dropped_id_sequence(shard: i32, layout: &str) -> bool {
    let mut found = false;
    let Some(value) = shard.into_datum() else { return false };
    let key = (c"dropped_id_sequence_pkey", pg_sys::F_INT4EQ, value);
    scan(c"dropped_id_sequence", Some(key), |row| {
        found |= row.text(2).as_deref() == Some(layout)
            && row.get::<i64>(3).is_some()
            && row.is_of_this_transaction();
    });
    found
}

/// The layout of that name.
pub(crate) fn layout(name: &str) -> Option<Layout> {
    let mut found = None;
    let key = (c"layout_pkey", pg_sys::F_TEXTEQ, text::datum(name));
    scan(c"layout", Some(key), |row| found = layout_row(row));
    found
}

/// One row of `shardid.ticket`.
pub(crate) struct TicketRow {
    pub(crate) sequence: pg_sys::Oid,
    pub(crate) server: i32,
    pub(crate) servers: i32,
    pub(crate) floor: i64,
    pub(crate) ceiling: Option<i64>,
    pub(crate) last_gapless: Option<i64>,
}

/// The ticket of that name.
pub(crate) fn ticket(name: &str) -> Option<TicketRow> {
    let mut found = None;
    let key = (c"ticket_pkey", pg_sys::F_TEXTEQ, text::datum(name));
    scan(c"ticket", Some(key), |row| found = ticket_row(row));
    found
}

/// What a sequence was made with.
#[derive(Clone, Copy)]
pub(crate) struct SequenceShape {
    pub(crate) start: i64,
    pub(crate) increment: i64,
    pub(crate) max: i64,
    pub(crate) min: i64,
}

/// What a sequence was made with; `None` for what is no sequence.
pub(crate) fn sequence_shape(sequence: pg_sys::Oid) -> Option<SequenceShape> {
    /// `FormData_pg_sequence`
    #[repr(C)]
    struct Form {
        relation: pg_sys::Oid,
        data_type: pg_sys::Oid,
        shape: [i64; 4],
    }
    // SAFETY: the fixed part of a row of pg_sequence begins like this since
    // PostgreSQL 10; it is copied before the row is let go of.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::SEQRELID;
        let tuple = pg_sys::SearchSysCache1(cache as _, sequence.into_datum()?);
        if tuple.is_null() {
            return None;
        }
        let [start, increment, max, min] = (*pg_sys::GETSTRUCT(tuple).cast::<Form>()).shape;
        pg_sys::ReleaseSysCache(tuple);
        Some(SequenceShape { start, increment, max, min })
    }
}

/// The oid of a table in schema `shardid`, which another extension has after a
/// `DROP EXTENSION` and a `CREATE EXTENSION`.
pub(crate) fn table(name: &CStr) -> pg_sys::Oid {
    // SAFETY: two lookups; a missing schema is an ordinary error.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"shardid".as_ptr(), false);
        pg_sys::get_relname_relid(name.as_ptr(), schema)
    }
}

fn shard_row(row: &Row) -> Option<ShardRow> {
    Some(ShardRow {
        shard: row.get(1)?,
        layout: row.text(2)?,
        sequence: row.get(3).filter(|&sequence| sequence != pg_sys::Oid::INVALID),
        state: row.text(4)?,
        node: row.text(5),
        map_version: row.get(6),
        system_identifier: row.get(8),
        database: row.text(9),
    })
}

fn ticket_row(row: &Row) -> Option<TicketRow> {
    Some(TicketRow {
        // Null where it was dropped; that is none, either.
        sequence: row.get(2).unwrap_or(pg_sys::Oid::INVALID),
        server: row.get(3)?,
        servers: row.get(4)?,
        floor: row.get(5)?,
        ceiling: row.get(6),
        last_gapless: row.get(7),
    })
}

fn layout_row(row: &Row) -> Option<Layout> {
    let epoch: i64 = row.get(2)?;
    let tick: pgrx::datum::Interval = row.get(3)?;
    Layout::new(epoch + POSTGRES_EPOCH_US, tick.micros(), row.get(4), row.get(5)?, row.get(6)?).ok()
}

/// What has no encoding.
trait Plain: FromDatum {}
impl Plain for bool {}
impl Plain for i32 {}
impl Plain for i64 {}
impl Plain for pg_sys::Oid {}
impl Plain for pgrx::datum::Interval {}

/// A row under a scan.
struct Row {
    tuple: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
}

impl Row {
    /// The text of a column by its number.
    fn text(&self, attribute: i32) -> Option<String> {
        let mut is_null = false;
        // SAFETY: as `get`; a text is bytes in the server's encoding.
        let bytes = unsafe {
            let datum = pg_sys::heap_getattr(self.tuple, attribute, self.descriptor, &mut is_null);
            <&[u8]>::from_datum(datum, is_null)?
        };
        Some(text::from_server(bytes).into_owned())
    }

    /// Whether this transaction, or a part of it that was not rolled back, has written the row.
    fn is_of_this_transaction(&self) -> bool {
        // SAFETY: the tuple is the scan's current one, whose header is there as long as it is.
        unsafe {
            let header = (*self.tuple).t_data;
            let is_known = u32::from((*header).t_infomask) & pg_sys::HEAP_XMIN_COMMITTED != 0;
            !is_known
                && pg_sys::TransactionIdIsCurrentTransactionId((*header).t_choice.t_heap.t_xmin)
        }
    }

    /// The value of a column by its number, as the type the table declares; for a text there is
    /// [`text`](Self::text).
    fn get<T: Plain>(&self, attribute: i32) -> Option<T> {
        let mut is_null = false;
        // SAFETY: the tuple is the scan's current one, and the attribute number
        // and type are those of the extension's own table.
        unsafe {
            let datum = pg_sys::heap_getattr(self.tuple, attribute, self.descriptor, &mut is_null);
            T::from_datum(datum, is_null)
        }
    }
}

/// Calls `each` for every row of a table in schema `shardid`, or for those that
/// an index finds for a key (index, equality function of the key's type, key).
fn scan(table: &CStr, key: Option<(&CStr, u32, pg_sys::Datum)>, mut each: impl FnMut(&Row)) {
    // SAFETY: an ordinary catalog scan. The key's collation is "C", which is
    // what the extension's text keys are declared with. If something raises an
    // error, the end of the transaction closes scan and relation.
    unsafe {
        // Looked up again once it is locked: while it was waited for, the extension may have
        // been dropped, and made anew.
        let name =
            pg_sys::makeRangeVar(c"shardid".as_ptr().cast_mut(), table.as_ptr().cast_mut(), -1);
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        let table = pg_sys::RangeVarGetRelidExtended(name, lock, 0, None, std::ptr::null_mut());
        let relation = pg_sys::table_open(table, pg_sys::NoLock as _);
        let schema = (*(*relation).rd_rel).relnamespace;
        let mut scan_key = pg_sys::ScanKeyData::default();
        let (index, keys) = match key {
            None => (pg_sys::Oid::INVALID, 0),
            Some((index, equal, value)) => {
                pg_sys::ScanKeyInit(
                    &mut scan_key,
                    1,
                    pg_sys::BTEqualStrategyNumber as _,
                    pg_sys::Oid::from(equal),
                    value,
                );
                (pg_sys::get_relname_relid(index.as_ptr(), schema), 1)
            }
        };
        let use_index = index != pg_sys::Oid::INVALID;
        let now = std::ptr::null_mut();
        let scan = pg_sys::systable_beginscan(relation, index, use_index, now, keys, &mut scan_key);
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            each(&Row { tuple, descriptor: (*relation).rd_att });
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as _);
    }
}
