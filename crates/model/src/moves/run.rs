//! What does a transaction do to a node, or to the catalog, whenever it runs?

use shardid_cluster::{MoveEvent, MoveKind, MoveState, next_state};

use super::rule::Rule;
use super::statement::Statement;
use super::world::{Copy, Gate, Says, World};
use crate::protocol::Rules;

impl World {
    /// Runs a statement of the program with a term; false where it is refused.
    pub(crate) fn run(&mut self, statement: Statement, term: u8, rules: Rules) -> bool {
        if let Some(node) = statement.node() {
            let claimed = self.nodes[usize::from(node)].term == term;
            return (claimed || !rules.hold(Rule::NodeTerm))
                && self.on_node(statement, node, rules);
        }
        self.in_catalog(statement, term, rules)
    }

    fn on_node(&mut self, statement: Statement, number: u8, rules: Rules) -> bool {
        let node = &mut self.nodes[usize::from(number)];
        match statement {
            Statement::MakeStream(from, of) => {
                let of = u8::try_from(of).expect("moves are few");
                let from = usize::from(from);
                // A new slot would begin behind what was written since the old one was lost.
                if self.nodes[from].stream == Some(of) && !self.is_sending(from) {
                    return false;
                }
                self.nodes[from].stream = Some(of);
            }
            Statement::EndStream(from) => {
                if let Some(copy) = node.copy.as_mut() {
                    copy.noted = None;
                }
                self.nodes[usize::from(from)].stream = None;
                self.nodes[usize::from(from)].sent = None;
            }
            Statement::MakeCopy(_) => {
                let gate = match rules.hold(Rule::GuardNewCopy) {
                    true => Gate::Guarded,
                    false => Gate::Open,
                };
                let closed = rules.hold(Rule::OpenByShard);
                let new = Copy { rows: 0, last: 0, closed, noted: None, held: None, gate };
                node.copy.get_or_insert(new);
            }
            Statement::Drop(_) => node.copy = None,
            Statement::Raise(_) => {
                let Some(copy) = node.copy.as_mut() else { return false };
                if rules.hold(Rule::FenceRefuses) {
                    copy.gate = Gate::Fenced;
                }
                if node.says == Says::Open {
                    node.says = Says::Fenced;
                }
            }
            Statement::Lower(_) => {
                let stands = node.says != Says::Moved || !rules.hold(Rule::LowerFenceOnly);
                if let Some(copy) = node.copy.as_mut().filter(|_| stands) {
                    copy.gate = Gate::Open;
                }
                if node.says == Says::Fenced {
                    node.says = Says::Open;
                }
            }
            // A copy that was gone back from may be gone already.
            Statement::Hold(_, by) => {
                if let Some(copy) = node.copy.as_mut() {
                    copy.held = Some(by);
                }
            }
            Statement::Note(_, last) => {
                let Some(copy) = node.copy.as_mut() else { return false };
                match rules.hold(Rule::OpenByShard) {
                    true => copy.noted = Some(last),
                    false => (copy.last, copy.closed) = (last, false),
                }
            }
            Statement::Guard(_, whole) => {
                // One that took over has lost its fence: what was written since is there alone.
                if node.says == Says::Open {
                    return false;
                }
                if node.says != Says::Moved {
                    node.sent = Some(whole);
                }
                if let Some(copy) = node.copy.as_mut() {
                    copy.gate = Gate::Guarded;
                    copy.closed = true;
                    copy.held = None;
                }
                node.says = Says::Moved;
            }
            Statement::Open(_) => {
                let Some(copy) = node.copy.as_mut() else { return false };
                copy.gate = Gate::Open;
                if node.says != Says::Open || !rules.hold(Rule::OpenOnce) {
                    copy.last = copy.noted.unwrap_or(copy.last);
                    copy.closed = false;
                }
                node.says = Says::Open;
            }
            Statement::Close(_) => {
                let Some(copy) = node.copy.as_mut() else { return false };
                copy.closed = true;
            }
            _ => unreachable!("it is the catalog's"),
        }
        true
    }

    fn in_catalog(&mut self, statement: Statement, term: u8, rules: Rules) -> bool {
        let (Statement::Advance(id, ..)
        | Statement::NoteCopy(id, _)
        | Statement::NoteStream(id, _)
        | Statement::ForgetCopy(id)
        | Statement::ForgetStream(id, _)
        | Statement::BeginRetire(id)
        | Statement::Retired(id)) = statement
        else {
            unreachable!("it is a node's")
        };
        // Those that say what is gone may be about the move that is taken back.
        let asks = !matches!(
            statement,
            Statement::ForgetCopy(_) | Statement::ForgetStream(..) | Statement::Retired(_)
        );
        if asks && rules.hold(Rule::JournalTerm) && self.moves[id].term != term {
            return false;
        }
        match statement {
            Statement::Advance(_, from, event) => return self.advance(id, from, event, rules),
            Statement::NoteCopy(_, node) => self.moves[id].copy_left = Some(node),
            Statement::NoteStream(_, from) => {
                let node = self.nodes[usize::from(from)];
                let is_made = node.stream.is_some_and(|of| usize::from(of) == id);
                if self.moves[id].source == from && !is_made {
                    self.moves[id].origin = Some(node.life);
                }
                self.moves[id].stream_left[usize::from(from)] = true;
            }
            Statement::ForgetCopy(_) => self.moves[id].copy_left = None,
            Statement::ForgetStream(_, from) => {
                self.moves[id].stream_left[usize::from(from)] = false;
            }
            Statement::BeginRetire(_) => {
                let going_back = self.moves.iter().any(|m| {
                    usize::from(m.rollback_of.unwrap_or(u8::MAX)) == id && !m.state.is_over()
                });
                if going_back && rules.hold(Rule::RollbackIsSeen) {
                    return false;
                }
                self.moves[id].retiring |= rules.hold(Rule::RetireIsWritten);
            }
            _ => self.moves[id].retired = true,
        }
        true
    }

    /// The transaction that takes a move on; the switch places the shard by it.
    fn advance(&mut self, id: usize, from: MoveState, event: MoveEvent, rules: Rules) -> bool {
        let record = self.moves[id];
        if rules.hold(Rule::CompareAndSet) && record.state != from {
            return false;
        }
        let Ok(next) = next_state(record.kind, from, event) else { return false };
        if next == MoveState::Switched {
            if self.owner != record.source {
                return false;
            }
            self.owner = record.target();
            // The copy there is the shard now, and that on the source the old one.
            for other in &mut self.moves {
                if other.copy_left == Some(record.target()) {
                    other.copy_left = None;
                }
            }
            self.moves[id].copy_left = Some(record.source);
            self.moves[id].was_switched = true;
        }
        if event == MoveEvent::GoBack {
            if self.owner != record.target() {
                return false;
            }
            self.owner = record.source;
            self.moves[id].copy_left = None;
            let of = record.rollback_of.map_or(id, usize::from);
            self.moves[of].copy_left = Some(record.target());
        }
        self.moves[id].state = next;
        true
    }

    /// Writes a move down, from where its program read the shard to be.
    pub(crate) fn plan(
        &mut self,
        kind: MoveKind,
        source: u8,
        rollback_of: Option<u8>,
        rules: Rules,
    ) -> Option<usize> {
        let old_copy_is_there = |id: u8| {
            let record = self.moves[usize::from(id)];
            record.state == MoveState::Done && !record.retiring && !record.retired
        };
        // What does not follow is not gone back to.
        let follows = self.nodes[usize::from(source)].stream.is_some();
        if rollback_of.is_some() && !follows {
            return None;
        }
        let stale = rules.hold(Rule::PlanFromMap) && self.owner != source;
        if self.standing().is_some() || stale || !rollback_of.is_none_or(old_copy_is_there) {
            return None;
        }
        self.moves.push(super::world::Record {
            kind,
            state: MoveState::Planned,
            source,
            rollback_of,
            term: 0,
            retiring: false,
            retired: false,
            origin: None,
            whole: None,
            was_switched: false,
            copy_left: None,
            stream_left: [false; 2],
        });
        Some(self.moves.len() - 1)
    }
}
