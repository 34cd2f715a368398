//! PostgreSQL's functions for the page path, without pgrx's guard around each.
//!
//! A guard costs about 9 ns, and the path to the page makes some fifteen
//! calls; one guard around the whole path (`sequence::visit`) does as well. The
//! rest is called where no Rust frame has anything to drop.
//! Signatures are those of PostgreSQL 15 to 18.

use core::ffi::{c_char, c_int, c_void};

use pgrx::pg_sys::{
    self, BlockNumber, Buffer, FuncCallContext, FunctionCallInfo, LOCKMODE, List, MemoryContext,
    Oid, Relation, ResourceOwner, RmgrId, XLogRecPtr,
};

/// Where a relation's file is: `RelFileLocator`, called `RelFileNode` until 15.
#[derive(Clone, Copy)]
#[repr(C)]
#[allow(non_snake_case)]
pub(super) struct RelationFile {
    pub(super) spcOid: Oid,
    pub(super) dbOid: Oid,
    pub(super) relNumber: Oid,
}

/// `TimeLineHistoryEntry`
#[repr(C)]
pub(super) struct TimelineEntry {
    pub(super) timeline: u32,
    pub(super) begin: XLogRecPtr,
    pub(super) end: XLogRecPtr,
}

unsafe extern "C-unwind" {
    pub(super) fn ConditionalLockBuffer(buffer: Buffer) -> bool;
    pub(super) fn GetUserId() -> Oid;
    pub(super) fn GetFlushRecPtr(timeline: *mut u32) -> XLogRecPtr;
    pub(super) fn GetRedoRecPtr() -> XLogRecPtr;
    pub(super) fn GetWALInsertionTimeLine() -> u32;
    pub(super) fn MemoryContextAlloc(context: MemoryContext, size: usize) -> *mut c_void;
    pub(super) fn IsTransactionBlock() -> bool;
    pub(super) fn LockBuffer(buffer: Buffer, mode: c_int);
    pub(super) fn LockRelationOid(relation: Oid, mode: LOCKMODE);
    pub(super) fn MarkBufferDirty(buffer: Buffer);
    pub(super) fn ReadBuffer(relation: Relation, block: BlockNumber) -> Buffer;
    pub(super) fn ReadRecentBuffer(
        file: RelationFile,
        fork: c_int,
        block: BlockNumber,
        recent: Buffer,
    ) -> bool;
    pub(super) fn SyncRepWaitForLSN(lsn: XLogRecPtr, commit: bool);
    pub(super) fn UnlockReleaseBuffer(buffer: Buffer);
    pub(super) fn XLogBeginInsert();
    pub(super) fn XLogFlush(record: XLogRecPtr);
    pub(super) fn XLogInsert(manager: RmgrId, info: u8) -> XLogRecPtr;
    pub(super) fn XLogRegisterBuffer(block_id: u8, buffer: Buffer, flags: u8);
    pub(super) fn XLogRegisterData(data: *const c_void, length: u32);
    pub(super) fn XLogSetAsyncXactLSN(record: XLogRecPtr);
    pub(super) fn EstimateGUCStateSpace() -> usize;
    #[cfg(feature = "pg15")]
    pub(super) fn get_guc_variables() -> *mut *mut pg_sys::config_generic;
    #[cfg(not(feature = "pg15"))]
    pub(super) fn get_guc_variables(count: *mut c_int) -> *mut *mut pg_sys::config_generic;
    pub(super) fn get_subscription_name(subscription: Oid, missing_ok: bool) -> *mut c_char;
    pub(super) fn end_MultiFuncCall(call: FunctionCallInfo, context: *mut FuncCallContext);
    pub(super) fn init_MultiFuncCall(call: FunctionCallInfo) -> *mut FuncCallContext;
    pub(super) fn readTimeLineHistory(timeline: u32) -> *mut List;
    pub(super) fn standard_ProcessUtility(
        statement: *mut pg_sys::PlannedStmt,
        text: *const c_char,
        read_only_tree: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        parameters: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        receiver: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );
    pub(super) fn relation_close(relation: Relation, mode: LOCKMODE);
    pub(super) fn try_relation_open(relation: Oid, mode: LOCKMODE) -> Relation;

    // How PostgreSQL raises an error; pgrx keeps these to itself, and knows no
    // SQLSTATE beyond PostgreSQL's own.
    pub(super) fn errcode(sqlstate: c_int) -> c_int;
    pub(super) fn errdetail(format: *const c_char, ...) -> c_int;
    pub(super) fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
    pub(super) fn errhint(format: *const c_char, ...) -> c_int;
    pub(super) fn errmsg(format: *const c_char, ...) -> c_int;
    pub(super) fn errstart(level: c_int, domain: *const c_char) -> bool;

    pub(super) static mut CurrentResourceOwner: ResourceOwner;
    pub(super) static mut TopTransactionResourceOwner: ResourceOwner;
}
