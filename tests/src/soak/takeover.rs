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
    /// Makes a standby; where there is one, it takes over with a slower clock.
    pub(super) fn standby(&mut self) {
        let Some(standby) = self.standby.take() else {
            // A backup between busy sessions takes half a minute on two cores.
            self.world.calm.store(true, Ordering::Relaxed);
            let standby = Server::builder()
                .name("soak-standby")
                .clock(Clock::Steerable)
                .fsync(false)
                .start_standby_of(&self.world.server());
            self.world.calm.store(false, Ordering::Relaxed);
            self.standby = Some(standby);
            self.world.tell("standby", "");
            return;
        };
        let old = self.world.server();
        // After a crash the standby needs a moment to find its primary again.
        let streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        wait_until(PATIENCE, "the standby to follow again", || {
            old.psql("postgres", streaming) == "1"
        });
        let behind = self.behind().max(0.0);
        let offset = self.world.offset() - behind;
        let how = if self.rng.random() {
            // Nobody takes ids from the moment on to which the standby has
            // followed: replication is asynchronous.
            let _closed = self.world.close_gate();
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

    /// As [`Trouble::standby`], until the standby has taken over.
    pub(super) fn promote_surely(&mut self) {
        while self.standby.is_some() && !self.world.is_stopped() {
            self.standby();
        }
    }

    fn take_over(&self, standby: Server, offset: f64) {
        self.world.announce(Some(offset), None);
        standby.set_clock(offset);
        standby.promote();
        self.world.move_to(Arc::new(standby), self.world.database());
    }

    /// The database is dumped, restored under another name, and dropped.
    pub(super) fn dump_and_restore(&mut self) {
        let _closed = self.world.close_gate();
        let (server, old) = (self.world.server(), self.world.database());
        self.databases += 1;
        let new = format!("soak_{}", self.databases);
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
