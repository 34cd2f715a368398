//! What can happen next, and what comes of it?

use crate::copy::Copying;
use crate::ddl::Statement;
use crate::horizon::Other;
use crate::layout::layout;
use crate::scenario::{Kind, Scenario};
use crate::storage::NUMBERS;
use crate::stranger::Setval;
use crate::take::Meanwhile;
use crate::world::World;

/// One step of somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A session visits the page for so many ids, or comes again after a refusal.
    Ask(usize, i64),
    /// The same; a checkpoint begins while it holds the page.
    AskAcrossCheckpoint(usize, i64),
    /// Its flush is done, and the ids leave.
    Deliver(usize),
    /// It has waited long enough for the clock.
    GiveUp(usize),
    /// It raises the horizon too late.
    RaiseLate(usize),
    /// The old library visits the page for so many ids.
    AskOld(i64),
    /// Its flush is done, and the ids leave.
    DeliverOld,
    /// A stranger calls `nextval`.
    Nextval,
    /// And commits.
    StrangerCommits,
    /// A stranger calls `setval`.
    Setval(Setval),
    /// The first session runs a statement.
    Execute(Statement),
    /// The database is copied, and the copy is looked at from now on.
    CopyDatabase(Copying),
    /// The extension is dropped and made again, and takes up the sequence.
    Reinstall,
    /// A checkpoint begins.
    BeginCheckpoint,
    /// It ends.
    EndCheckpoint,
    /// Another generator of the database does something.
    Others(Other),
    /// Somebody puts the horizon back by hand.
    PutHorizonBack,
    /// A dirty page is written and leaves shared buffers.
    Evict(u32),
    /// The server dies and starts again; the WAL writer has brought WAL to disk up to
    /// there. When it did makes no difference: nothing else depends on it.
    Crash(u64),
    /// A backup is taken, or a standby made, in place of the one there is.
    BackUp,
    /// The backup and WAL up to there take over.
    Restore(u64),
    /// The clock goes on.
    Tick,
    /// It is set back.
    SetClockBack,
}

impl Scenario {
    /// All that may happen in a state, possible or not.
    pub(crate) fn all_actions(&self, world: &World, out: &mut Vec<Action>) {
        if world.given.twice.is_some() {
            return;
        }
        let left = &world.left;
        for (who, session) in world.sessions.iter().enumerate() {
            match (session.pending, session.asking) {
                (Some(_), _) => out.push(Action::Deliver(who)),
                (None, Some(asking)) => {
                    out.push(Action::Ask(who, asking.want));
                    if asking.beyond.is_some() {
                        out.push(Action::GiveUp(who));
                    }
                }
                (None, None) if left.has(Kind::Visit) => {
                    out.extend(self.wants.iter().map(|&want| Action::Ask(who, want)));
                }
                _ => {}
            }
            let across = session.pending.is_none() && world.checkpoint.is_none();
            if across && left.has(Kind::CheckpointInVisit) {
                out.push(Action::AskAcrossCheckpoint(who, self.wants[0]));
            }
            if session.late_horizon.is_some() {
                out.push(Action::RaiseLate(who));
            }
        }
        match world.old.pending {
            Some(_) => out.push(Action::DeliverOld),
            None if left.has(Kind::OldVisit) => {
                out.extend(self.wants.iter().map(|&want| Action::AskOld(want)));
            }
            None => {}
        }
        if world.stranger.is_some() {
            out.push(Action::StrangerCommits);
        } else if left.has(Kind::Nextval) {
            out.push(Action::Nextval);
        }
        if left.has(Kind::SetvalBack) {
            out.extend([Action::Setval(Setval::Back), Action::Setval(Setval::BackNotCalled)]);
        }
        if left.has(Kind::SetvalForward) {
            out.push(Action::Setval(Setval::Forward));
        }
        self.statements(world, out);
        if left.has(Kind::Copy) && world.transaction.is_none() && world.nobody_takes() {
            out.extend([Copying::WalLog, Copying::FileCopy].map(Action::CopyDatabase));
        }
        if left.has(Kind::Reinstall) {
            out.push(Action::Reinstall);
        }
        self.faults(world, out);
    }

    fn statements(&self, world: &World, out: &mut Vec<Action>) {
        let left = &world.left;
        if left.has(Kind::Alter) {
            out.push(Action::Execute(Statement::AlterSequence));
            if self.persistence {
                out.push(Action::Execute(Statement::SetUnlogged));
                out.push(Action::Execute(Statement::SetLogged));
            }
        }
        if left.has(Kind::Restart) {
            out.push(Action::Execute(Statement::Restart));
        }
        if left.has(Kind::Drop) {
            out.push(Action::Execute(Statement::DropSchema));
            out.push(Action::Execute(Statement::DropShard));
        }
        if left.has(Kind::Create) {
            out.push(Action::Execute(Statement::CreateShard));
        }
        if left.has(Kind::Savepoint) {
            out.push(Action::Execute(Statement::Savepoint));
        }
        if world.transaction.is_some() {
            let ends = [Statement::RollbackTo, Statement::Release];
            out.extend(ends.map(Action::Execute));
            out.extend([Statement::Commit, Statement::Rollback].map(Action::Execute));
        }
    }

    fn faults(&self, world: &World, out: &mut Vec<Action>) {
        let left = &world.left;
        if world.checkpoint.is_some() {
            out.push(Action::EndCheckpoint);
        } else if left.has(Kind::Checkpoint) {
            out.push(Action::BeginCheckpoint);
        }
        if left.has(Kind::Evict) {
            out.extend(world.dirty().filter(|of| *of != NUMBERS[1]).map(Action::Evict));
        }
        if left.has(Kind::Other) {
            out.extend([Other::Leases, Other::Asks, Other::Writes].map(Action::Others));
        }
        if left.has(Kind::HorizonBack) {
            out.push(Action::PutHorizonBack);
        }
        if left.has(Kind::Crash) {
            out.extend((world.wal.flushed()..=world.wal.end()).map(Action::Crash));
        }
        if left.has(Kind::BackUp) && world.checkpoint.is_none() {
            out.push(Action::BackUp);
        }
        if let Some(backup) = world.backup.as_ref().filter(|_| left.has(Kind::Restore)) {
            out.extend((backup.end..=world.wal.end()).map(Action::Restore));
        }
        if left.has(Kind::Tick) {
            out.push(Action::Tick);
        }
        if left.has(Kind::Back) {
            out.push(Action::SetClockBack);
        }
    }

    /// What comes of a step; `None` where it cannot be.
    pub(crate) fn after(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        let w = &mut next;
        let spent = |w: &mut World, kind| w.left.spend(kind);
        let can = match action {
            Action::Ask(who, want) => w.ask(self, who, want, Meanwhile::Nothing),
            Action::AskAcrossCheckpoint(who, want) => {
                spent(w, Kind::CheckpointInVisit)
                    && w.ask(self, who, want, Meanwhile::CheckpointBegins)
            }
            Action::Deliver(who) => w.deliver(who),
            Action::GiveUp(who) => {
                w.sessions[who].asking = None;
                true
            }
            Action::Others(other) => {
                w.other(self, other);
                spent(w, Kind::Other)
            }
            Action::PutHorizonBack => {
                w.put_horizon_back();
                spent(w, Kind::HorizonBack)
            }
            Action::RaiseLate(who) => w.raise_late(self, who),
            Action::AskOld(want) => w.ask_old(self, want),
            Action::DeliverOld => w.deliver_old(),
            Action::Nextval => w.nextval(),
            Action::StrangerCommits => w.deliver_stranger(),
            Action::Setval(to) => w.setval(to),
            Action::Execute(statement) => w.execute(self, statement),
            Action::CopyDatabase(how) => {
                w.copy_database(how);
                spent(w, Kind::Copy)
            }
            Action::Reinstall => w.reinstall() && spent(w, Kind::Reinstall),
            Action::BeginCheckpoint => {
                w.begin_checkpoint();
                spent(w, Kind::Checkpoint)
            }
            Action::EndCheckpoint => {
                w.end_checkpoint();
                true
            }
            Action::Evict(number) => {
                w.write(number);
                spent(w, Kind::Evict)
            }
            Action::Crash(lsn) => {
                w.wal.flush(lsn);
                w.crash();
                spent(w, Kind::Crash)
            }
            Action::BackUp => {
                w.back_up();
                spent(w, Kind::BackUp)
            }
            Action::Restore(lsn) => {
                w.restore(lsn);
                spent(w, Kind::Restore)
            }
            Action::Tick => {
                w.now += self.step;
                spent(w, Kind::Tick)
            }
            Action::SetClockBack => {
                w.now -= self.back * layout().slots();
                spent(w, Kind::Back)
            }
        };
        can.then_some(next)
    }
}
