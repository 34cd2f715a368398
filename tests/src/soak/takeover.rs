//! The shards come to be elsewhere: a standby takes over, or a restored dump.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::Rng;

use super::trouble::{PATIENCE, Trouble};
use crate::{Clock, Installation, Server, wait_until};

impl Trouble {
    /// Makes a standby, where there is none.
    pub(super) fn follow(&mut self) {
        let standby = self.standby.take().unwrap_or_else(|| self.make_standby());
        self.standby = Some(standby);
    }

    fn make_standby(&self) -> Server {
        // A backup between busy sessions takes half a minute on two cores.
        self.world.calm.store(true, Ordering::Relaxed);
        let standby = Server::builder()
            .name("soak-standby")
            .clock(Clock::Steerable)
            .fsync(false)
            .start_standby_of(&self.world.server());
        self.world.calm.store(false, Ordering::Relaxed);
        self.world.tell("standby", "");
        standby
    }

    /// A standby that follows its primary at this moment.
    fn follower(&mut self) -> Server {
        let standby = self.standby.take().unwrap_or_else(|| self.make_standby());
        // After a crash the standby needs a moment to find its primary again.
        let streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        let old = self.world.server();
        wait_until(PATIENCE, "the standby to follow again", || {
            old.psql("postgres", streaming) == "1"
        });
        standby
    }

    /// A standby takes over with a slower clock.
    pub(super) fn promote(&mut self) {
        let standby = self.follower();
        let old = self.world.server();
        let behind = self.behind().max(0.0);
        let offset = self.world.offset() - behind;
        let how = if self.rng.random() {
            // Nobody takes ids from the moment on to which the standby has
            // followed: replication is asynchronous.
            let world = Arc::clone(&self.world);
            let _closed = world.close_gate();
            old.wait_for(&standby);
            old.kill9();
            self.take_over(standby, offset);
            "killed"
        } else {
            // Under load: a server that stops sends everything to its standby first.
            old.stop();
            if !has_everything(&old, &standby) {
                old.start();
                self.standby = Some(standby);
                self.world.tell("no promotion", "the standby did not follow");
                return;
            }
            self.take_over(standby, offset);
            "stopped"
        };
        self.world.tell("promotion", &format!("old server {how}, clock -{behind:.1} s"));
    }

    /// As [`Trouble::promote`], until the standby has taken over.
    pub(super) fn promote_surely(&mut self) {
        while self.standby.is_some() && !self.world.is_stopped() {
            self.promote();
        }
    }

    /// A standby takes over that has not got what its primary did last.
    pub(super) fn lose_the_tail(&mut self) {
        let standby = self.follower();
        let world = Arc::clone(&self.world);
        let old = world.server();
        old.wait_for(&standby);
        standby.psql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
        standby.psql("postgres", "SELECT pg_reload_conf()");
        wait_until(PATIENCE, "the standby to stop following", || {
            standby.psql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver") == "0"
        });
        self.go_ahead_for_a_while();
        let _closed = world.close_gate();
        old.kill9();
        let offset = self.offset_below_all_ids();
        world.lose();
        self.take_over(standby, offset);
        world.tell("lost tail", "");
    }

    /// The server is restored from a backup to a restore point, and what it did after
    /// that never was.
    pub(super) fn restore_to_a_point(&mut self) {
        let world = Arc::clone(&self.world);
        let old = world.server();
        // It cannot follow a server that goes back.
        self.standby = None;
        let mut closed = None;
        world.calm.store(true, Ordering::Relaxed);
        let mut offset = 0.0;
        let builder = Server::builder().name("soak-restored").clock(Clock::Steerable).fsync(false);
        let restored = builder.start_restored_from(&old, || {
            world.calm.store(false, Ordering::Relaxed);
            old.psql("postgres", "SELECT pg_create_restore_point('here')");
            // No commit may come before the end that would bring it to disk.
            old.psql("postgres", "SELECT pg_switch_wal()");
            self.go_ahead_for_a_while();
            closed = Some(world.close_gate());
            old.kill9();
            offset = self.offset_below_all_ids();
            world.lose();
        });
        world.announce(Some(offset), None);
        restored.set_clock(offset);
        world.move_to(Arc::new(restored), world.database());
        drop(closed);
        world.tell("restored to a point", "");
    }

    /// Lets sessions take ids, mostly ahead of the clock, which will be forgotten.
    fn go_ahead_for_a_while(&mut self) {
        if self.rng.random_bool(0.7) {
            let by = self.world.lead().min(9.0) - self.rng.random_range(3.0..9.0);
            self.world.set_clock(self.world.offset() + by);
        }
        sleep(Duration::from_millis(self.rng.random_range(200..1200)));
    }

    fn take_over(&self, standby: Server, offset: f64) {
        self.world.announce(Some(offset), None);
        standby.set_clock(offset);
        standby.promote();
        self.world.move_to(Arc::new(standby), self.world.database());
    }

    /// Has each sequence that was put back be noticed: a dump carries nothing but its value.
    fn all_generators_know_their_ids(&mut self) -> bool {
        let (server, database) = (self.world.server(), self.world.database());
        let altered: Vec<_> = self.world.generators.iter().filter(|g| g.altered).collect();
        let ids: Vec<String> = altered.iter().map(|g| format!("SELECT {};", g.next)).collect();
        let ids = ids.concat();
        (0..5).any(|times| {
            if times > 0 {
                self.catch_up_by(10.0 * f64::from(times));
            }
            server.try_psql(&database, &ids).is_ok()
        })
    }

    pub(super) fn new_database(&mut self) -> String {
        self.databases += 1;
        format!("soak_{}", self.databases)
    }

    /// The database is dumped, restored under another name, and dropped.
    pub(super) fn dump_and_restore(&mut self) {
        let world = Arc::clone(&self.world);
        let _closed = world.close_gate();
        if !self.all_generators_know_their_ids() {
            self.world.tell("no dump", "a generator has to wait for the clock");
            return;
        }
        let (server, old) = (self.world.server(), self.world.database());
        let new = self.new_database();
        server.psql(&old, "TRUNCATE filled");
        server.psql("postgres", &format!("CREATE DATABASE {new}"));
        let mut dump = server
            .command("pg_dump")
            .arg(&old)
            .stdout(Stdio::piped())
            .spawn()
            .expect("pg_dump can be run");
        let restored = server
            .command("psql")
            .args(["-Xq", "-v", "ON_ERROR_STOP=1", "-d", &new])
            .stdin(dump.stdout.take().expect("its output is a pipe"))
            .stdout(Stdio::null())
            .status()
            .expect("psql can be run");
        let dumped = dump.wait().expect("pg_dump ends");
        assert!(dumped.success() && restored.success(), "the dump cannot be restored");
        let by = self.rng.random_range(-5.0..0.0);
        self.world.set_clock(self.world.offset() + by);
        self.world.move_to(Arc::clone(&server), new);
        server.psql("postgres", &format!("DROP DATABASE {old} WITH (FORCE)"));
        self.world.tell("dump and restore", &format!("clock {by:+.1} s"));
    }
}

/// Whether a standby has all that a server wrote which has stopped.
fn has_everything(stopped: &Server, standby: &Server) -> bool {
    let output = Installation::get()
        .client("pg_controldata")
        .arg("-D")
        .arg(stopped.data())
        .output()
        .expect("pg_controldata can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text
        .lines()
        .find_map(|line| line.strip_prefix("Latest checkpoint location:"))
        .expect("it tells where the last checkpoint is")
        .trim();
    let sql = format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{last}', false)");
    let deadline = Instant::now() + Duration::from_secs(3);
    while Instant::now() < deadline {
        if standby.psql("postgres", &sql) == "t" {
            return true;
        }
        sleep(Duration::from_millis(20));
    }
    false
}
