//! PostgreSQL's functions for the page path, without pgrx's guard around each:
//! one guard is around the whole visit.

use core::ffi::{c_int, c_void};

use pgrx::pg_sys::{
    BlockNumber, Buffer, LOCKMODE, Oid, Relation, ResourceOwner, RmgrId, XLogRecPtr,
};

/// Where a relation's file is.
#[cfg(feature = "pg15")]
pub(crate) type RelationFile = pgrx::pg_sys::RelFileNode;
/// Where a relation's file is.
#[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
pub(crate) type RelationFile = pgrx::pg_sys::RelFileLocator;

unsafe extern "C-unwind" {
    pub(crate) fn GetRedoRecPtr() -> XLogRecPtr;
    pub(crate) fn LockBuffer(buffer: Buffer, mode: c_int);
    pub(crate) fn LockRelationOid(relation: Oid, mode: LOCKMODE);
    pub(crate) fn MarkBufferDirty(buffer: Buffer);
    pub(crate) fn ReadBuffer(relation: Relation, block: BlockNumber) -> Buffer;
    pub(crate) fn ReadRecentBuffer(
        file: RelationFile,
        fork: c_int,
        block: BlockNumber,
        recent: Buffer,
    ) -> bool;
    pub(crate) fn UnlockReleaseBuffer(buffer: Buffer);
    pub(crate) fn XLogBeginInsert();
    pub(crate) fn XLogFlush(record: XLogRecPtr);
    pub(crate) fn XLogInsert(manager: RmgrId, info: u8) -> XLogRecPtr;
    pub(crate) fn XLogRegisterBuffer(block_id: u8, buffer: Buffer, flags: u8);
    pub(crate) fn XLogRegisterData(data: *const c_void, length: u32);
    pub(crate) fn XLogSetAsyncXactLSN(record: XLogRecPtr);
    pub(crate) fn relation_close(relation: Relation, mode: LOCKMODE);
    pub(crate) fn try_relation_open(relation: Oid, mode: LOCKMODE) -> Relation;

    pub(crate) static mut CurrentResourceOwner: ResourceOwner;
    pub(crate) static mut TopTransactionResourceOwner: ResourceOwner;
}
