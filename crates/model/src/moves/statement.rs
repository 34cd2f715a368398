//! Which transactions does a program run?

use shardid_cluster::{MoveEvent, MoveState};

/// A transaction of a program that works on a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statement {
    /// The journal: from the state that was read to the one after an event.
    Advance(usize, MoveState, MoveEvent),
    /// The journal: a copy on a node will have to be removed, or a stream from it.
    NoteCopy(usize, u8),
    /// The same of a stream from a node.
    NoteStream(usize, u8),
    /// The journal: what was noted is gone.
    ForgetCopy(usize),
    /// The same of a stream from a node.
    ForgetStream(usize, u8),
    /// The journal: the old copy is being dropped.
    BeginRetire(usize),
    /// The journal: it is gone.
    Retired(usize),
    /// A new copy.
    MakeCopy(u8),
    /// A stream from a node, of a move; the other node subscribes, and is asked for the term.
    MakeStream(u8, usize),
    /// Its end.
    EndStream(u8),
    /// The fence.
    Raise(u8),
    /// The fence is taken down.
    Lower(u8),
    /// The sequence is kept from everybody, by a program's session.
    Hold(u8, u8),
    /// It is noted from which number on it goes on when the node has the shard.
    Note(u8, u8),
    /// The node says where the shard is, and in which of its lives the other one had all rows; the sequence ends.
    Guard(u8, Option<u8>),
    /// The node has the shard; the sequence goes on as noted, unless it does already.
    Open(u8),
    /// The sequence ends.
    Close(u8),
    /// The copy is dropped.
    Drop(u8),
}

impl Statement {
    /// The node that it is about; none where it is the catalog's.
    pub(super) fn node(self) -> Option<u8> {
        match self {
            Self::MakeCopy(node)
            | Self::Raise(node)
            | Self::Lower(node)
            | Self::Hold(node, _)
            | Self::Note(node, _)
            | Self::Guard(node, _)
            | Self::Open(node)
            | Self::Close(node)
            | Self::Drop(node) => Some(node),
            Self::MakeStream(from, _) | Self::EndStream(from) => Some(1 - from),
            _ => None,
        }
    }
}
