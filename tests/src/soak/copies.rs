//! The database is copied by `CREATE DATABASE … TEMPLATE`: who goes on from the copy?

use std::sync::Arc;
use std::time::Instant;

use postgres::Client;
use rand::Rng;

use super::ledger::{Ledger, Receipt};
use super::trouble::Trouble;
use crate::Server;

impl Trouble {
    /// The run goes on in a copy, perhaps with a crash soon after.
    pub(super) fn move_to_a_copy(&mut self) {
        let world = Arc::clone(&self.world);
        let (server, old) = (world.server(), world.database());
        let which = self.rng.random_range(0..world.generators.len());
        self.touched = Some(which);
        self.put_ahead(which, 3.0..9.0);
        {
            let _closed = world.close_gate();
            let new = self.copy(&server, &old);
            world.move_to(Arc::clone(&server), new);
        }
        self.take_some(&world, which);
        if self.rng.random_bool(0.7) {
            self.crash();
        }
        // Only now: it makes a checkpoint.
        server.psql("postgres", &format!("DROP DATABASE {old} WITH (FORCE)"));
    }

    /// A copy is used for a while beside the run, as a world of its own: its ids are held
    /// against each other, and against those from before the copy.
    pub(super) fn use_a_copy(&mut self) {
        let world = Arc::clone(&self.world);
        let (server, old) = (world.server(), world.database());
        let which = self.rng.random_range(0..world.generators.len());
        self.touched = Some(which);
        self.put_ahead(which, 3.0..9.0);
        let (copy, mut ledger) = {
            let _closed = world.close_gate();
            (self.copy(&server, &old), world.fork(which))
        };
        for time in ["in a copy", "in a copy after a crash", "in a copy after two crashes"] {
            let count = self.rng.random_range(1..4000);
            let taken = match server.try_connect(&copy) {
                Ok(client) => self.take_beside(client, which, count),
                Err(_) => Vec::new(),
            };
            let receipt = Receipt {
                session: "the user of a copy",
                way: time,
                since: Instant::now(),
                ids: &taken,
                latest_us: None,
            };
            self.enter_beside(&mut ledger, which, &receipt);
            self.crash();
        }
        world.server().psql("postgres", &format!("DROP DATABASE {copy} WITH (FORCE)"));
    }

    /// Copies a database that nobody may enter.
    fn copy(&mut self, server: &Server, old: &str) -> String {
        let new = self.new_database();
        let strategy = if self.rng.random() { "WAL_LOG" } else { "FILE_COPY" };
        server.psql(
            "postgres",
            &format!("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{old}'"),
        );
        let sql = format!("CREATE DATABASE {new} TEMPLATE {old} STRATEGY {strategy}");
        server.psql("postgres", &sql);
        if strategy == "FILE_COPY" {
            // A standby copies the files of the template when it replays this, and once more when it
            // crashes right after it was promoted: by then the template may be dropped there, and
            // PostgreSQL makes an empty folder of it.
            self.standby = None;
        }
        self.world.forget();
        self.world.tell("copy", strategy);
        new
    }

    /// Takes ids one by one from a generator of the copy, until it is refused.
    fn take_beside(&self, mut client: Client, which: usize, count: usize) -> Vec<i64> {
        let sql = format!("SELECT {}", self.world.generators[which].next);
        let Ok(statement) = client.prepare(&sql) else {
            return Vec::new();
        };
        let id = |_| client.query_one(&statement, &[]).ok().map(|row| row.get(0));
        (0..count).map_while(id).collect()
    }

    fn enter_beside(&self, ledger: &mut Ledger, which: usize, receipt: &Receipt) {
        let generator = &self.world.generators[which];
        if let Err(what) = ledger.enter(generator, receipt) {
            self.world.fail(&what);
        } else if let Some(id) = receipt.ids.first()
            && ledger.enter(generator, &Receipt { ids: &[*id], ..*receipt }).is_ok()
        {
            self.world.fail(&format!("a planted repeat in a copy was not noticed: {id}"));
        }
    }
}
