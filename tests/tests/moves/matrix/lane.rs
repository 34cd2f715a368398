//! Where a case is played: two nodes, and a third that comes and goes, with a shard that a
//! writer writes to.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use shardid_tests::Server;
use shardid_tests::estate::{DATABASE, Estate, Held, Writer};

use super::{Case, Fault, First, Second, places};
use crate::behind::follow_verify;
use crate::catalog::{back_up, is_as_the_file_says, restore};

/// The shard that is at stake; the other one is there to be moved along.
const SHARD: u32 = 0;
const OTHER: u32 = 1;

/// What the other shard holds, so that it is the larger one: a `rebalance` moves the smallest.
const BALLAST: &str = "CREATE TABLE shard_0001.ballast (id bigint PRIMARY KEY, text text);
    INSERT INTO shard_0001.ballast SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, 3000) n";

/// What the shard has beside the rows of a writer, so that there is something to copy.
const KEPT: &str = "CREATE TABLE shard_0000.kept (id bigint PRIMARY KEY);
    INSERT INTO shard_0000.kept SELECT n FROM generate_series(1, 10) n";

pub(super) struct Lane {
    pub(super) estate: Estate,
    /// The server of a node that is not in the cluster just now.
    third: Option<Server>,
}

impl Lane {
    pub(super) fn new() -> Self {
        // Shard 0 is born on pg1, shard 1 on pg2.
        let estate = Estate::start(2, 2);
        estate.make_tables(SHARD);
        estate.psql("pg1", KEPT);
        estate.psql("pg2", BALLAST);
        Self { estate, third: None }
    }

    /// The node that a shard is not on, of the two that stay.
    fn other(&self, shard: u32) -> &'static str {
        if self.estate.home(shard) == "pg1" { "pg2" } else { "pg1" }
    }

    fn ask(&self, sql: &str) -> Vec<String> {
        self.estate.psql("pg1", sql).lines().map(str::to_owned).collect()
    }

    fn ok(&self, words: &[&str]) {
        self.estate.run(words).ok();
    }

    /// Has a shard be on a node, with no old copy.
    fn bring(&self, shard: u32, node: &str) {
        if self.estate.home(shard) != node {
            let shard = shard.to_string();
            self.ok(&["move", &shard, "--to", node, "--yes", "--no-rollback"]);
            self.ok(&["retire", "--all", "--yes"]);
        }
    }

    /// Moves the shard, and says which move that was.
    fn moved(&self) -> String {
        self.ok(&["move", "0", "--to", self.other(SHARD), "--yes"]);
        self.estate.last_move(SHARD)
    }

    /// Leaves a command standing where it is cut, and says which move it is of.
    fn cut(&self, at: &str, words: &[&str]) -> String {
        self.estate.run_cut(at, words);
        self.estate.last_move(SHARD)
    }

    fn cut_move(&self, at: &str) -> String {
        self.cut(at, &["move", "0", "--to", self.other(SHARD), "--yes"])
    }

    fn cut_rollback(&self, at: &str) -> String {
        let id = self.moved();
        self.cut(at, &["rollback", &id, "--yes"])
    }

    /// A third server, with nothing on it, and the cluster file that has it or has it no more.
    fn join(&mut self) {
        match self.third.take() {
            Some(third) => self.estate.servers.push(third),
            None => self.estate.add_server(),
        }
        self.estate.declare(2, |_, url| url);
    }

    fn part(&mut self) {
        self.third = self.estate.servers.pop();
        self.estate.declare(2, |_, url| url);
    }

    /// What there has to be before anybody writes.
    fn prepare(&mut self, first: First) {
        let home = self.estate.home(SHARD);
        match first {
            First::Drain => self.bring(OTHER, self.other(SHARD)),
            First::Rebalance => self.bring(OTHER, &home),
            First::ApplyJoin => {
                self.bring(SHARD, "pg1");
                self.join();
            }
            First::ApplyPart => {
                self.bring(SHARD, "pg1");
                self.join();
                self.ok(&["apply", "--yes"]);
            }
            _ => {}
        }
    }

    /// Brings about what the first program finds, and says what it is told.
    fn set_up(&mut self, first: First) -> Vec<String> {
        let ending = |word: &str, id: String| vec![word.to_owned(), id, "--yes".to_owned()];
        let resume = |id: String| vec!["resume".to_owned(), id];
        let apply = || vec!["apply".to_owned(), "--yes".to_owned()];
        match first {
            First::Move => {
                ["move", "0", "--to", self.other(SHARD), "--yes"].map(str::to_owned).into()
            }
            First::MoveByParts => ["move", "0", "--to", self.other(SHARD), "--yes", "--jobs", "2"]
                .map(str::to_owned)
                .into(),
            First::Drain => vec!["drain".to_owned(), self.estate.home(SHARD), "--yes".to_owned()],
            First::Rebalance => ["rebalance", "--yes"].map(str::to_owned).into(),
            First::Rollback => ending("rollback", self.moved()),
            First::Retire => ending("retire", self.moved()),
            First::Abort => ending("abort", self.cut_move("fenced/before-next")),
            First::AbortRollback => ending("abort", self.cut_rollback("fenced/before-next")),
            First::Resume => resume(self.cut_move("copying/after-Subscribe")),
            First::ResumeFenced => resume(self.cut_move("fenced/before-next")),
            First::ResumeRollback => resume(self.cut_rollback("fenced/before-next")),
            First::ResumeAbort => {
                let id = self.cut_move("fenced/before-next");
                resume(self.cut("gone/slot", &["abort", &id, "--yes"]))
            }
            First::ApplyJoin => apply(),
            First::ApplyPart => {
                self.part();
                apply()
            }
            // The catalog is of before the move, which the nodes know to be switched.
            First::ApplyOpen => {
                let to = self.other(SHARD);
                back_up(&self.estate);
                self.cut_move("switched/before-OpenTarget");
                restore(&self.estate);
                let rebuild = ["catalog", "rebuild", "--yes"];
                self.estate.run_cut(&format!("apply/before-Open-{to}"), &rebuild);
                apply()
            }
        }
    }

    /// Begins what the first program is to do, and leaves it standing at the place.
    fn begin(&mut self, case: &Case) -> Held {
        let words = self.set_up(case.first);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.estate.command(&words);
        let [here, there] = self.names();
        let real = |place: &str| place.replace("-here", &here).replace("-there", &there);
        let place = real(case.place());
        let _ = fs::remove_file(self.came_to());
        command.env("SHARDID_HOLD_AT", &place).env("SHARDID_PLACES_TO", self.came_to());
        if let (Fault::DiesAtNext, Some(next)) = (case.fault, case.next()) {
            command.env("SHARDID_CUT_AT", real(next));
        }
        let held = Held::start(command, &place);
        let came: Vec<String> = self.read_places(&here, &there);
        // Where a fence was lost meanwhile, it has been at some places twice.
        if !came.iter().any(|place| place.contains("/before-LowerFence#")) {
            let listed = &places::of(case.first)[..=case.at];
            assert_eq!(came, listed, "the list is old: `MATRIX=record` writes it anew");
        }
        held
    }

    /// Where the first program writes down to which places it comes.
    fn came_to(&self) -> PathBuf {
        self.estate.folder().join("places")
    }

    fn names(&self) -> [String; 2] {
        [format!("-{}", self.estate.home(SHARD)), format!("-{}", self.other(SHARD))]
    }

    fn read_places(&self, here: &str, there: &str) -> Vec<String> {
        let text = fs::read_to_string(self.came_to()).expect("it came to a place");
        // How many parts there are is the writer's affair.
        text.lines()
            .filter(|place| !place.starts_with("copy/part#"))
            .map(|place| place.replace(here, "-here").replace(there, "-there"))
            .collect()
    }

    /// Plays the first program alone, and says to which places it came.
    pub(super) fn record(&mut self, first: First) -> Vec<String> {
        loop {
            self.prepare(first);
            let words = self.set_up(first);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut command = self.estate.command(&words);
            let _ = fs::remove_file(self.came_to());
            command.env("SHARDID_PLACES_TO", self.came_to());
            let [here, there] = self.names();
            shardid_tests::program::run(command).ok();
            let came = self.read_places(&here, &there);
            self.settle(first);
            self.clear_up(first);
            if !came.iter().any(|place| place.contains("/before-LowerFence#")) {
                return came;
            }
            eprintln!("a fence was lost: once more");
        }
    }

    /// What the second program is told, for what there is.
    fn second(&self, second: Second) -> Vec<String> {
        let last = self.estate.last_move(SHARD);
        let done = format!(
            "SELECT coalesce(max(move), 0) FROM shardid.move WHERE shard = {SHARD} AND kind = 'copy'"
        );
        let copy = self.ask(&done).concat();
        let words: Vec<&str> = match second {
            Second::Resume => vec!["resume", &last],
            Second::Abort => vec!["abort", &last, "--yes"],
            Second::Rollback => vec!["rollback", &copy, "--yes"],
            Second::Retire => vec!["retire", &copy, "--yes"],
            Second::Move => vec!["move", "0", "--to", self.other(SHARD), "--yes"],
            Second::Drain => vec!["drain", "pg1", "--yes"],
            Second::Rebalance => vec!["rebalance", "--yes"],
            Second::Apply => vec!["apply", "--yes"],
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Ends the session that holds the lock of the shard's moves.
    fn take_lock_away(&self) {
        let ended = self.ask(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_locks
              WHERE locktype = 'advisory' AND classid = 324843900 AND objid = {SHARD} AND granted"
        ));
        assert_eq!(ended, ["t"], "one program has the lock");
    }

    /// Ends all that stands, drops old copies, and looks whether all is well.
    fn settle(&mut self, first: First) {
        let standing =
            "SELECT move FROM shardid.move WHERE state NOT IN ('done', 'aborted') ORDER BY move";
        for id in self.ask(standing) {
            self.ok(&["resume", &id]);
        }
        assert_eq!(self.ask(standing), Vec::<String>::new());
        self.ok(&["retire", "--all", "--yes"]);
        self.ok(&["apply", "--yes"]);
        if first == First::ApplyOpen {
            // What is left of a move that is in no journal; the copy is kept under another name.
            follow_verify(&self.estate);
            let copy = "DO $$ BEGIN IF to_regnamespace('shard_0000_left') IS NOT NULL THEN
                DROP SCHEMA shard_0000_left CASCADE; END IF; END $$";
            for node in self.estate.nodes() {
                self.estate.psql(&node, copy);
            }
        }
        is_as_the_file_says(&self.estate);
        for shard in [SHARD, OTHER] {
            self.estate.assert_no_trace(shard);
        }
        self.estate.assert_no_streams();
        let home = self.estate.home(OTHER);
        assert_eq!(self.estate.psql(&home, "SELECT count(*) FROM shard_0001.ballast"), "3000");
    }

    /// Has the third node leave again, and be as new.
    fn clear_up(&mut self, first: First) {
        match first {
            First::ApplyJoin => self.send_away(),
            First::ApplyPart => self.wipe_third(),
            _ => {}
        }
    }

    fn send_away(&mut self) {
        for shard in [SHARD, OTHER] {
            if self.estate.home(shard) == "pg3" {
                self.bring(shard, "pg1");
            }
        }
        self.part();
        self.ok(&["apply", "--yes"]);
        is_as_the_file_says(&self.estate);
        self.wipe_third();
    }

    fn wipe_third(&self) {
        let third = self.third.as_ref().expect("it has left");
        third.psql("postgres", &format!("DROP DATABASE {DATABASE} WITH (FORCE)"));
        third.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
    }

    /// Plays a case, whose rows are numbered from one on.
    pub(super) fn play(&mut self, case: &Case, first_row: i64) {
        self.prepare(case.first);
        let writer = Writer::begin(&self.estate, SHARD, first_row, Duration::from_millis(4));
        writer.wait_for(1);
        let first = self.begin(case);
        let second = self.second(case.second);
        let words: Vec<&str> = second.iter().map(String::as_str).collect();
        match case.fault {
            Fault::Killed => {
                first.kill();
                self.estate.run(&words);
            }
            Fault::DiesAtNext => {
                thread::scope(|scope| {
                    let second = scope.spawn(|| self.estate.run(&words));
                    thread::sleep(Duration::from_millis(500));
                    first.let_go();
                    second.join().expect("it ends");
                });
            }
            Fault::LosesLock => {
                self.take_lock_away();
                self.estate.run(&words);
                // Whatever it does now, another has taken over, or it is alone as before.
                first.let_go();
            }
        }
        self.settle(case.first);
        writer.wait_for(2);
        let tally = writer.end();
        self.estate.assert_whole(SHARD, &tally);
        // The next case has rows of its own.
        let home = self.estate.home(SHARD);
        self.estate.psql(&home, "TRUNCATE shard_0000.item, shard_0000.line");
        self.clear_up(case.first);
    }
}
