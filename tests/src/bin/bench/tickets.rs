//! Tickets and segments in PostgreSQL, against the sequence that is under them.

use std::time::Instant;

use shardid_tests::postgres::Client;

use crate::pgbench::take_turns;
use crate::setting::Setting;
use crate::statistics::median;
use crate::table::{Table, Target};

/// How many numbers the contenders that take many take at a time.
const MANY: f64 = 1_000.0;

/// One number and many of them, in a statement and by clients of their own.
pub(crate) fn run(setting: &Setting, table: &mut Table) {
    let mut client = setting.connect();
    client
        .batch_execute(
            "SELECT create_ticket('bench', 1, 2), create_ticket('gapless'), create_segment('bench', 1000)",
        )
        .expect("they are new");
    calls(setting, table, &mut client);
    clients(setting, table);
}

fn calls(setting: &Setting, table: &mut Table, client: &mut Client) {
    const CONTENDERS: [&str; 3] = ["1", "next_ticket('bench')", "nextval('seq_1')"];
    let (rounds, calls) = (setting.pick(9, 5), setting.pick(1_000_000, 300_000));
    let mut net = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        let mut gross = [0.0; CONTENDERS.len()];
        for turn in 0..CONTENDERS.len() {
            let which = (round + turn) % CONTENDERS.len();
            gross[which] = time(client, CONTENDERS[which], calls);
        }
        // The first round warms up and does not count.
        if round > 0 {
            net[0].push(gross[1] - gross[0]);
            net[1].push(gross[2] - gross[0]);
        }
    }
    let [ticket, nextval] = [median(&net[0]), median(&net[1])];
    table.title(format!("One ticket of many in a statement, net: median of {rounds} rounds, ns"));
    table.figure("next_ticket('photos')", format!("{ticket:.1}"));
    table.figure("nextval, CACHE 1", format!("{nextval:.1}"));
    table.ratio("against nextval", ticket / nextval, Target::AtMost(1.5));
    table.note("with the waits for the disk: next_ticket's own, and none of nextval's commit");
}

/// Nanoseconds a call, with the loop and the waits in it.
fn time(client: &mut Client, expression: &str, calls: usize) -> f64 {
    let sql = format!("SELECT count({expression}) FROM generate_series(1, {calls})");
    let started = Instant::now();
    let counted: i64 = client.query_one(&sql, &[]).expect("the contender is there").get(0);
    assert_eq!(counted, calls as i64, "{sql}");
    started.elapsed().as_nanos() as f64 / calls as f64
}

fn clients(setting: &Setting, table: &mut Table) {
    const SCRIPTS: [(&str, &str); 5] = [
        ("SELECT nextval, CACHE 1", "SELECT nextval('seq_1');"),
        ("SELECT next_ticket('photos')", "SELECT next_ticket('bench');"),
        (
            "SELECT * FROM next_tickets('photos', 1000)",
            "SELECT * FROM next_tickets('bench', 1000);",
        ),
        ("SELECT * FROM next_segment('orders')", "SELECT * FROM next_segment('bench');"),
        ("SELECT next_ticket_gapless('invoices')", "SELECT next_ticket_gapless('gapless');"),
    ];
    for clients in [1, 8] {
        let scripts = SCRIPTS.map(|(_, script)| script);
        let tps = take_turns(setting, &scripts, clients, setting.pick(5, 3));
        let tps: Vec<f64> = tps.iter().map(|rounds| median(rounds)).collect();
        table.title(format!("Tickets, prepared, pgbench, clients: {clients}"));
        for ((name, _), tps) in SCRIPTS.iter().zip(&tps) {
            table.figure(*name, format!("{tps:.0} tps"));
        }
        let (nextval, ticket, many) = (tps[0], tps[1], tps[2]);
        table.ratio("next_ticket against nextval", ticket / nextval, Target::AtLeast(0.95));
        let numbers = many * MANY / ticket;
        table.ratio("numbers by next_tickets against next_ticket", numbers, Target::AtLeast(20.0));
    }
}
