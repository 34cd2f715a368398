//! What is the state of nodes, catalog, programs and the client at one moment?

use shardid_cluster::{MoveKind, MoveState, Origin, copy_ahead};

use super::lives::{END, descent, lineage};
use super::program::Program;
use super::statement::Statement;

/// Whom a copy lets write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Everybody.
    Open,
    /// What replicates. Clients are told where the shard is, or that it is moving.
    Guarded,
    /// Nobody.
    Fenced,
}

/// What a node has of the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Copy {
    /// The rows, a bit each.
    pub rows: u8,
    /// The last number of its sequence.
    pub last: u8,
    /// Whether the sequence has come to its end.
    pub closed: bool,
    /// Noted: from which number on it goes on.
    pub noted: Option<u8>,
    /// Whose session keeps everybody else from it.
    pub held: Option<u8>,
    /// Whom its triggers let write.
    pub gate: Gate,
}

/// What a node says of the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Says {
    /// It gives ids here.
    Open,
    /// It gives none for a moment.
    Fenced,
    /// It lives elsewhere.
    Moved,
}

/// A node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// Its schema of the shard.
    pub copy: Option<Copy>,
    /// Its row of the shard.
    pub says: Says,
    /// The highest term by which the shard was claimed.
    pub term: u8,
    /// Whether what is written here is carried to the other node: for which move.
    pub stream: Option<u8>,
    /// Whether the shard is published here by the move that closed it, and in which of its lives the other
    /// node had all rows, as noted then.
    pub sent: Option<Option<u8>>,
    /// How often a standby that was behind has taken over.
    pub life: u8,
}

/// A move in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record {
    /// Whether it copies or goes back.
    pub kind: MoveKind,
    /// How far it is.
    pub state: MoveState,
    /// From where.
    pub source: u8,
    /// The move that it takes back.
    pub rollback_of: Option<u8>,
    /// The term of the program that may go on with it.
    pub term: u8,
    /// Its old copy is being dropped.
    pub retiring: bool,
    /// And is gone.
    pub retired: bool,
    /// Noted: in which of its lives the source was when the copy began.
    pub origin: Option<u8>,
    /// Noted: in which of its lives the target has had all rows.
    pub whole: Option<u8>,
    /// The map has had the shard on the target by it.
    pub was_switched: bool,
    /// Noted: a copy on this node.
    pub copy_left: Option<u8>,
    /// Noted: a stream from this node, of its own.
    pub stream_left: [bool; 2],
}

impl Record {
    /// To where.
    pub fn target(&self) -> u8 {
        1 - self.source
    }
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// Both nodes.
    pub nodes: [Node; 2],
    /// Where the map has the shard.
    pub owner: u8,
    /// The highest term that was drawn.
    pub term: u8,
    /// The journal.
    pub moves: Vec<Record>,
    /// Who has the lock of the shard.
    pub lock: Option<u8>,
    /// The programs.
    pub programs: [Program; 2],
    /// Statements that their program does not wait for any more, with its term.
    pub late: Option<(Statement, u8)>,
    /// Where the client believes the shard to be.
    pub believes: u8,
    /// The rows that the client was told to be there.
    pub acknowledged: u8,
    /// The numbers that sequences have given.
    pub given: u8,
    /// Whether one was given twice.
    pub twice: bool,
    /// How many programs may still begin.
    pub begins: u8,
    /// How many statements may still be late.
    pub lates: u8,
    /// How often a lock may still be lost.
    pub losses: u8,
    /// How often a fence may still be given up.
    pub fences: u8,
    /// How many rows may still be written, and numbers taken.
    pub writes: u8,
    /// How many numbers of the sequence may still be taken.
    pub draws: u8,
    /// How often a standby that is behind may still take over from the target.
    pub fail_overs: u8,
    /// And from the source, while its copy is made.
    pub source_fail_overs: u8,
    /// How often the catalog may still be lost.
    pub catalog_losses: u8,
    /// Whether it was: what moves have left then nobody knows, but for `verify`.
    pub was_rebuilt: bool,
}

impl World {
    /// The node of the move that replicates its writes to the other, if it may.
    pub(crate) fn deliver(&mut self, from: usize) -> bool {
        let (true, Some(source)) = (self.is_sending(from), self.nodes[from].copy) else {
            return false;
        };
        let Some(target) = self.nodes[1 - from].copy.as_mut() else { return false };
        if target.gate == Gate::Fenced || target.rows | source.rows == target.rows {
            return false;
        }
        target.rows |= source.rows;
        true
    }

    /// Whether a node has what the other one follows it by: a standby that took over has not.
    pub(crate) fn is_sending(&self, from: usize) -> bool {
        let node = &self.nodes[from];
        node.stream.is_some_and(|of| {
            let record = &self.moves[usize::from(of)];
            let is_source = usize::from(record.source) == from;
            !is_source || record.origin.is_none_or(|origin| origin == node.life)
        })
    }

    /// Whether the source of a move may lack what its new copy has.
    pub(crate) fn source_has_lost(&self, id: usize) -> bool {
        let record = &self.moves[id];
        let life = self.nodes[usize::from(record.source)].life;
        record.kind == MoveKind::Copy
            && record.copy_left == Some(record.target())
            && record.origin.is_some_and(|origin| {
                let origin = Some(Origin { of: lineage(origin), database: 5 });
                copy_ahead(origin, &descent(life, END - 1), Some(END), true).is_some()
            })
    }

    /// Whether a move is switched, and its source open again behind its back.
    pub(crate) fn source_is_open(&self, id: usize) -> bool {
        let record = &self.moves[id];
        let says = self.nodes[usize::from(record.source)].says;
        record.state == MoveState::Switched && says == Says::Open
    }

    /// Somebody accepts that the source is closed, and takes over what was written there since.
    pub(crate) fn take_over(&mut self, id: usize) {
        let (source, target) = (self.moves[id].source, self.moves[id].target());
        let node = &mut self.nodes[usize::from(source)];
        node.says = Says::Fenced;
        let Some(copy) = node.copy.as_mut() else { return };
        copy.gate = Gate::Fenced;
        let rows = copy.rows;
        if let Some(copy) = self.nodes[usize::from(target)].copy.as_mut() {
            copy.rows |= rows;
        }
    }

    /// Somebody compares both copies, brings over to the source what it has lost, and accepts that the copy goes.
    pub(crate) fn bring_over(&mut self, id: usize) {
        let (source, target) = (self.moves[id].source, self.moves[id].target());
        let rows = self.nodes[usize::from(target)].copy.map_or(0, |copy| copy.rows);
        let node = &mut self.nodes[usize::from(source)];
        self.moves[id].origin = Some(node.life);
        if let Some(copy) = node.copy.as_mut() {
            copy.rows |= rows;
        }
    }

    /// A standby that was behind takes over from the source of a move, before that has closed it: it has no
    /// fence, and nothing follows it. What no node has is lost with the server.
    pub(crate) fn fail_over_source(&mut self) -> bool {
        use MoveState::{Aborting, Copying, Fenced, Following, Switched};
        let Some(record) = self.standing().map(|id| self.moves[id]) else { return false };
        let is_at = matches!(record.state, Copying | Following | Fenced | Switched | Aborting);
        if !is_at || record.kind != MoveKind::Copy {
            return false;
        }
        let target = self.nodes[usize::from(record.target())];
        // An old copy of an earlier move is another matter: it is held back by itself.
        let is_its_own = record.copy_left == Some(record.target()) || record.was_switched;
        // And one that is being dropped was looked at while the source had all.
        let goes = self.late.is_some_and(|(it, _)| it == Statement::Drop(record.target()));
        let rows = target.copy.filter(|_| is_its_own && !goes).map_or(0, |copy| copy.rows);
        let source = &mut self.nodes[usize::from(record.source)];
        if source.says == Says::Moved || target.says == Says::Open {
            return false;
        }
        let Some(copy) = source.copy.as_mut() else { return false };
        *copy = Copy { rows: 0, last: 0, closed: false, noted: None, held: None, gate: Gate::Open };
        source.says = Says::Open;
        source.life += 1;
        self.acknowledged &= rows;
        for who in 0..self.programs.len() {
            self.leave(who);
        }
        if self.late.is_some_and(|(statement, _)| statement.node() == Some(record.source)) {
            self.late = None;
        }
        self.source_fail_overs -= 1;
        true
    }

    /// Whether a node may come to lack what it had.
    pub(crate) fn has_fail_overs(&self) -> bool {
        self.fail_overs > 0 || self.nodes.iter().any(|node| node.life > 0)
    }

    /// Whether the target of a move lacks what it had.
    pub(crate) fn has_lost(&self, id: usize) -> bool {
        let record = &self.moves[id];
        let life = self.nodes[usize::from(record.target())].life;
        record.whole.is_some_and(|whole| whole != life)
    }

    /// A standby that was behind takes over from the target of a switched move, before that was opened; what
    /// programs had under way there ends with their sessions, and nobody sends again what it lacks.
    pub(crate) fn fail_over(&mut self) -> bool {
        let Some(record) = self.standing().map(|id| self.moves[id]) else { return false };
        let (source, number) = (usize::from(record.source), record.target());
        let target = &mut self.nodes[usize::from(number)];
        if record.state != MoveState::Switched || target.says == Says::Open {
            return false;
        }
        let Some(copy) = target.copy.as_mut() else { return false };
        *copy =
            Copy { rows: 0, last: 0, closed: true, noted: None, held: None, gate: Gate::Guarded };
        target.life += 1;
        self.nodes[source].stream = None;
        for who in 0..self.programs.len() {
            self.leave(who);
        }
        if self.late.is_some_and(|(statement, _)| statement.node() == Some(number)) {
            self.late = None;
        }
        self.fail_overs -= 1;
        true
    }

    /// The client writes a row to where it believes the shard to be.
    pub(crate) fn write(&mut self) -> bool {
        if self.writes == 0 {
            return false;
        }
        let row = 1 << self.acknowledged.count_ones();
        match self.nodes[usize::from(self.believes)].copy.as_mut() {
            Some(copy) if copy.gate == Gate::Open => copy.rows |= row,
            _ => return false,
        }
        self.writes -= 1;
        self.acknowledged |= row;
        true
    }

    /// Somebody takes a number of the sequence on a node.
    pub(crate) fn draw(&mut self, node: usize) -> bool {
        if self.draws == 0 {
            return false;
        }
        let Some(copy) = self.nodes[node].copy.as_mut() else { return false };
        if copy.closed || copy.held.is_some() {
            return false;
        }
        copy.last += 1;
        let number = 1 << copy.last;
        self.twice |= self.given & number != 0;
        self.given |= number;
        self.draws -= 1;
        true
    }

    /// The move that is not over.
    pub(crate) fn standing(&self) -> Option<usize> {
        self.moves.iter().position(|record| !record.state.is_over())
    }

    /// What is wrong once nothing stands and nobody is at work.
    pub(crate) fn wrong_at_rest(&self) -> Option<&'static str> {
        let owner = usize::from(self.owner);
        let (home, other) = (&self.nodes[owner], &self.nodes[1 - owner]);
        if home.says != Says::Open {
            return Some("the shard is open nowhere");
        }
        let Some(copy) = home.copy else { return Some("the shard is gone") };
        if copy.gate != Gate::Open || copy.closed || copy.held.is_some() {
            return Some("the shard takes no writes where it lives");
        }
        if self.acknowledged & !copy.rows != 0 {
            return Some("an acknowledged row is lost");
        }
        if other.says == Says::Open || other.copy.is_some_and(|copy| copy.gate == Gate::Open) {
            return Some("the other node takes writes");
        }
        let known = |node: u8| {
            self.moves.iter().any(|m| {
                m.copy_left == Some(node)
                    && m.state == MoveState::Done
                    && m.kind == MoveKind::Copy
                    && !m.retired
            })
        };
        // `verify` names what was left before a catalog was made anew.
        if self.was_rebuilt {
            return None;
        }
        if other.copy.is_some() && !known(1 - self.owner) {
            return Some("a copy is left that no move knows of");
        }
        if other.stream.is_some() {
            return Some("a stream is left that nobody needs");
        }
        if home.stream.is_some_and(|of| !self.moves[usize::from(of)].stream_left[owner]) {
            return Some("a stream is left that no move knows of");
        }
        None
    }

    /// What is wrong whatever is under way.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
        if self.nodes.iter().all(|node| node.says == Says::Open) {
            return Some("the shard is open on both nodes");
        }
        if self.twice {
            return Some("a number was given twice");
        }
        let open = |node: &Node| node.copy.is_some_and(|copy| copy.gate == Gate::Open);
        if self.nodes.iter().all(open) {
            return Some("both nodes take writes");
        }
        None
    }
}
