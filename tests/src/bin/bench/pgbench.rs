//! Single statements through pgbench, which takes turns between contenders.

use std::fs;
use std::path::PathBuf;

use crate::setting::Setting;
use crate::statistics::median;
use crate::table::{Table, Target};

/// `SELECT next_id(5)`, prepared: two clients, and many that take ids of one shard.
pub(crate) fn run(setting: &Setting, table: &mut Table) {
    for (clients, least) in [(2, 0.95), (32, 0.9)] {
        let shard = setting.new_shard();
        let next_id = format!("SELECT next_id({shard});");
        // What any function costs: it is looked up, and the right to call it.
        let empty = "SELECT pg_backend_pid();";
        let scripts = ["SELECT 1;", empty, &next_id, "SELECT nextval('seq_1');"];
        let tps = take_turns(setting, &scripts, clients, setting.pick(7, 3));
        let [one, empty, next_id, nextval] = [0, 1, 2, 3].map(|which| median(&tps[which]));
        table.title(format!("SELECT next_id(5), prepared, pgbench with {clients} clients"));
        for (name, tps) in [
            ("SELECT 1", one),
            ("SELECT pg_backend_pid(): empty C function", empty),
            ("SELECT next_id(5)", next_id),
            ("SELECT nextval, CACHE 1", nextval),
        ] {
            table.figure(name, format!("{tps:.0} tps"));
        }
        table.ratio("against SELECT 1", next_id / one, Target::AtLeast(least));
        table.figure("(against the empty function)", format!("{:.3} ×", next_id / empty));
        table.ratio("against SELECT nextval", next_id / nextval, Target::AtLeast(1.2));
    }
}

/// Transactions a second of each script, one value a round.
pub(crate) fn take_turns(
    setting: &Setting,
    scripts: &[&str],
    clients: usize,
    rounds: usize,
) -> Vec<Vec<f64>> {
    let files: Vec<PathBuf> = scripts
        .iter()
        .enumerate()
        .map(|(number, script)| {
            let file = setting.server().folder().join(format!("pgbench-{number}.sql"));
            fs::write(&file, script).expect("the server's folder can be written");
            file
        })
        .collect();
    let seconds = setting.pick(4, 1);
    let mut tps = vec![Vec::new(); scripts.len()];
    for round in 0..rounds {
        for turn in 0..scripts.len() {
            let which = (round + turn) % scripts.len();
            tps[which].push(run_script(setting, &files[which], clients, seconds));
        }
    }
    tps
}

fn run_script(setting: &Setting, file: &PathBuf, clients: usize, seconds: u32) -> f64 {
    let output = setting
        .database()
        .command("pgbench")
        .args(["--no-vacuum", "--protocol=prepared"])
        .arg(format!("--client={clients}"))
        .args(["--jobs=2", &format!("--time={seconds}"), "--file"])
        .arg(file)
        .output()
        .expect("pgbench can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("pgbench gives no tps: {text}"))
}
