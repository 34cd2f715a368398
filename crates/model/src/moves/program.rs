//! Where does a program stand?

use shardid_cluster::MoveState;

/// What a program was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// Take the shard to the other node.
    Move,
    /// Take the last move back.
    Rollback,
    /// Go on with what stands.
    Resume,
    /// Give up what stands.
    Abort,
    /// Drop the old copy of the last move.
    Retire,
}

/// Where a program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    /// Nobody runs it.
    Out,
    /// It writes its move down, from where it has read the shard to be.
    Plan(u8),
    /// It waits for the lock.
    Lock,
    /// It draws a term.
    Draw,
    /// It claims the source.
    ClaimSource,
    /// It writes down that the move is given up.
    GiveUp,
    /// It lets writers go on.
    Relieve,
    /// It claims the target.
    ClaimTarget,
    /// The n-th effect of the state that it has read, and the n-th statement of that.
    Effect(u8, u8),
    /// It writes the next state down.
    Next,
    /// The fence could not be held: it writes that down.
    LoseFence,
    /// The n-th statement of dropping an old copy.
    Retire(u8),
}

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Program {
    /// Its number.
    pub number: u8,
    /// What it was told.
    pub task: Task,
    /// Where it stands.
    pub at: At,
    /// The move that it works on.
    pub id: u8,
    /// The state of the move that it has read.
    pub state: MoveState,
    /// Its term.
    pub term: u8,
    /// Where the source's sequence was, while the program holds it or has just closed it.
    pub last: Option<u8>,
}

impl Program {
    pub(crate) fn out(number: u8) -> Self {
        Self {
            number,
            task: Task::Move,
            at: At::Out,
            id: 0,
            state: MoveState::Planned,
            term: 0,
            last: None,
        }
    }
}
