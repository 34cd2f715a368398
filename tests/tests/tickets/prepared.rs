//! A transaction that XA has prepared holds tickets, and no list of processes shows it.

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    what_waits_for_a_prepared_transaction_names_it,
}

fn what_waits_for_a_prepared_transaction_names_it(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.run(&["tickets", "verify"]).ok();
    servers.sql(
        "my2",
        "XA START 'payment-17'; SELECT shardid.next_ticket('orders'); XA END 'payment-17'; XA PREPARE 'payment-17'",
    );
    // As where the server is put back from a backup.
    servers.sql("my2", "UPDATE shardid.server SET mark = 'of before'");
    let run = servers.run(&["apply", "--yes"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    for part in ["XA RECOVER", "XA COMMIT", "XA ROLLBACK", "payment-17", "node my2"] {
        assert!(run.stderr.contains(part), "{part} is not in {}", run.stderr);
    }
    servers.sql("my2", "XA COMMIT 'payment-17'");
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();
}
