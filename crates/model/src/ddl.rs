//! What do DDL and the functions that make and drop shards do, and what of it is undone?
//!
//! There is one transaction at a time that changes something, the first session's.

use shardid_ids::Flushed;

use crate::layout::{BEGIN, id};
use crate::mending::Mending;
use crate::pages::{Image, Stored};
use crate::scenario::{Kind, Scenario};
use crate::transaction::{Level, Transaction};
use crate::wal::Record;
use crate::world::World;

/// A statement of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statement {
    /// An `ALTER SEQUENCE` that makes a new file with the old tuple.
    AlterSequence,
    /// `ALTER SEQUENCE … RESTART`, or `TRUNCATE … RESTART IDENTITY`.
    Restart,
    /// `ALTER SEQUENCE … SET UNLOGGED`.
    SetUnlogged,
    /// `ALTER SEQUENCE … SET LOGGED`.
    SetLogged,
    /// `DROP SCHEMA … CASCADE`: the row in `shardid.shard` stays.
    DropSchema,
    /// `drop_shard()`, which waits for the clock.
    DropShard,
    /// `create_shard()`.
    CreateShard,
    /// `SAVEPOINT`.
    Savepoint,
    /// `RELEASE SAVEPOINT`.
    Release,
    /// `ROLLBACK TO SAVEPOINT`.
    RollbackTo,
    /// `COMMIT`, which waits for the disk only where a file goes.
    Commit,
    /// `ROLLBACK`.
    Rollback,
}

impl World {
    /// The first session runs a statement; says whether it could.
    pub(crate) fn execute(&mut self, scenario: &Scenario, statement: Statement) -> bool {
        if !self.sessions[0].is_idle() {
            return false;
        }
        match statement {
            Statement::Commit => return self.commit(scenario),
            Statement::Rollback => return self.roll_back(),
            Statement::Release => return self.release(),
            Statement::RollbackTo => return self.roll_back_to(),
            _ => {}
        }
        let kind = match statement {
            Statement::AlterSequence | Statement::SetUnlogged | Statement::SetLogged => Kind::Alter,
            Statement::Restart => Kind::Restart,
            Statement::DropSchema | Statement::DropShard => Kind::Drop,
            Statement::CreateShard => Kind::Create,
            _ => Kind::Savepoint,
        };
        let locked = self.transaction.as_ref().is_some_and(Transaction::locks);
        if !(locked || kind == Kind::Savepoint || self.nobody_takes()) || !self.left.spend(kind) {
            return false;
        }
        let outer = Level {
            row: self.row,
            made: None,
            new_file: false,
            own_new_file: false,
            locks: false,
            anew: false,
        };
        let mut transaction =
            self.transaction.take().unwrap_or(Transaction { levels: vec![outer] });
        if statement == Statement::Savepoint {
            let top = *transaction.top();
            let first = transaction.levels.len() == 1;
            transaction.levels.push(top);
            self.transaction = Some(transaction);
            return first;
        }
        let at = transaction.levels.len() - 1;
        let mut level = transaction.levels[at];
        level.locks = true;
        let done = match statement {
            Statement::DropSchema => self.drop_schema(&mut level),
            Statement::DropShard => self.drop_shard(scenario, &mut level),
            Statement::CreateShard => self.create_shard(scenario, &mut level, at),
            _ => self.new_file(scenario, statement, &mut level, at),
        };
        transaction.levels[at] = level;
        self.transaction = Some(transaction);
        // The change has been announced to this session.
        self.sessions[0].flushed = Flushed::NOTHING;
        self.drop_files();
        done
    }

    fn new_file(
        &mut self,
        scenario: &Scenario,
        statement: Statement,
        level: &mut Level,
        at: usize,
    ) -> bool {
        let Some(number) = level.row.file else { return false };
        let mut image = self.stored(number).buffer;
        match statement {
            Statement::SetUnlogged if !level.row.unlogged => level.row.unlogged = true,
            Statement::SetLogged if level.row.unlogged => level.row.unlogged = false,
            Statement::AlterSequence => {}
            Statement::Restart => {
                image.page.last_value = id(BEGIN - 2, 0);
                image.page.log_cnt = 0;
                image.page.is_called = false;
                level.anew = true;
            }
            _ => return false,
        }
        if !scenario.off.is(Mending::Outside) {
            image.page.trace = None;
        }
        image.page.lsn = 0;
        image.chain = 0;
        level.row.file = Some(self.make_file(image, !scenario.minimal));
        level.new_file = level.made.is_none();
        level.own_new_file = level.made.is_some_and(|made| made != at);
        true
    }

    pub(crate) fn make_file(&mut self, image: Image, logged: bool) -> u32 {
        let number = self.next_file;
        self.next_file += 1;
        self.files.push(Stored { number, buffer: image, dirty: true, disk: None });
        if logged {
            self.log_page(number);
        }
        number
    }

    fn commit(&mut self, scenario: &Scenario) -> bool {
        let Some(transaction) = self.transaction.take() else { return false };
        let Level { row, made, new_file, locks, anew, .. } = *transaction.top();
        if locks {
            let file_goes = self.row.file.is_some() && self.row.file != row.file;
            if anew {
                self.given.put_back(-1);
            }
            self.row = row;
            if scenario.minimal
                && (made.is_some() || new_file)
                && let Some(number) = row.file
            {
                self.write(number);
            }
            self.wal.insert(Record::Row(row));
            if file_goes || scenario.commits_wait {
                self.wal.flush_all();
            }
            self.sessions.iter_mut().for_each(|session| session.flushed = Flushed::NOTHING);
            self.old.flushed = (0, -1);
        }
        self.drop_files();
        true
    }

    fn roll_back(&mut self) -> bool {
        let was = self.transaction.take().is_some();
        self.sessions[0].flushed = Flushed::NOTHING;
        self.drop_files();
        was
    }

    fn release(&mut self) -> bool {
        let Some(transaction) = &mut self.transaction else { return false };
        if transaction.levels.len() < 2 {
            return false;
        }
        // What was made or given a new file there was so by the outer level now.
        let mut inner = transaction.levels.pop().expect("there is one");
        if inner.made.is_some() {
            (inner.made, inner.own_new_file) = (Some(0), false);
        }
        transaction.levels[0] = inner;
        self.drop_files();
        true
    }

    fn roll_back_to(&mut self) -> bool {
        let Some(transaction) = &mut self.transaction else { return false };
        if transaction.levels.len() < 2 {
            return false;
        }
        transaction.levels.pop();
        self.sessions[0].flushed = Flushed::NOTHING;
        self.drop_files();
        true
    }
}
