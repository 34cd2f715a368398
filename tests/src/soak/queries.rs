//! Queries that must give no ids, or not twice: READ ONLY ones, and those of parallel workers.

use std::sync::Arc;
use std::time::Instant;

use rand::Rng;

use super::session::{Session, Sort};
use super::trouble::Trouble;
use super::ways;

/// Has a query be run by parallel workers wherever that is allowed.
const IN_WORKERS: &str = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
    SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2";

impl Trouble {
    /// READ ONLY transactions, in the leader and in workers: both must refuse.
    pub(super) fn read_only(&mut self) {
        let which = self.rng.random_range(0..self.world.generators.len());
        self.touched = Some(which);
        let mut told = Vec::new();
        for in_workers in [false, true] {
            let (count, said) = self.ask(which, in_workers, "BEGIN READ ONLY");
            let place = if in_workers { "workers" } else { "the leader" };
            if count > 0 {
                let name = &self.world.generators[which].name;
                self.world.fail(&format!(
                    "{name} gave {count} ids in a READ ONLY transaction, in {place}"
                ));
            }
            told.push(format!("{place} {said}"));
        }
        self.world.tell("read only", &told.join(", "));
    }

    /// Parallel workers: they refuse, or their ids count.
    pub(super) fn parallel(&mut self) {
        let which = self.rng.random_range(0..self.world.generators.len());
        self.touched = Some(which);
        let (count, said) = self.ask(which, true, "BEGIN");
        self.world.tell("parallel", &format!("{count} ids, {said}"));
    }

    /// Takes an id, or one for each row of a table: how many came, and what was said.
    fn ask(&mut self, which: usize, in_workers: bool, begin: &str) -> (u64, String) {
        let world = Arc::clone(&self.world);
        let client = world.server().connect(&world.database());
        let mut session = Session::new(&world, client, self.rng.clone(), "the reader", Sort::Usual);
        if in_workers {
            let version = session.client.query_one("SHOW server_version_num", &[]);
            let version: String = version.expect("it says its version").get(0);
            let force = if version.as_str() < "160000" {
                "force_parallel_mode"
            } else {
                "debug_parallel_query"
            };
            let leader = self.rng.random::<bool>();
            let sql = format!(
                "{IN_WORKERS}; SET {force} = on; SET parallel_leader_participation = {leader}"
            );
            session.client.batch_execute(&sql).expect("a superuser may set these");
        }
        session.client.batch_execute(begin).expect("a transaction can begin");
        let rows = if self.rng.random_bool(0.3) { "" } else { "FROM wide" };
        let sql = format!("SELECT {} {rows}", world.generators[which].next);
        let asked = ways::rows(&mut session, which, "parallel", Instant::now(), &sql);
        let said = match asked {
            Ok(()) => "done".into(),
            Err(error) => match error.as_db_error().map(|said| said.code().code().to_owned()) {
                Some(state) if ["25006", "25000"].contains(&state.as_str()) => state,
                _ => {
                    session.judge(which, &error);
                    "refused".into()
                }
            },
        };
        (session.taken, said)
    }
}
