//! Behind a transaction that XA has prepared, and that has no session any more: whoever waits for it is told what ends
//! it, and nothing of it is lost.

use shardid_tests::my::{Engine, Server, expect_refused, query};
use shardid_tests::mysql::Row;
use shardid_tests::on_both_engines;

on_both_engines!(who_takes_over_behind_a_prepared_transaction_is_told_what_ends_it);

/// A backup of files, or a replica, has with all else what was prepared.
fn who_takes_over_behind_a_prepared_transaction_is_told_what_ends_it(engine: Engine) {
    let server = Server::builder(engine).name("the server before").start();
    server.query(
        "CALL shardid.create_ticket('orders', 1, 1); CALL shardid.create_ticket('invoices', 1, 1);
         CALL shardid.create_shard(5, 'instagram'); CREATE DATABASE app; CREATE TABLE app.bills (number BIGINT)",
    );
    server.query(
        "XA START 'payment-17';
         INSERT INTO app.bills SELECT shardid.next_ticket('orders'); INSERT INTO app.bills SELECT shardid.next_ticket_gapless('invoices');
         XA END 'payment-17'; XA PREPARE 'payment-17'",
    );
    server.stop();
    // What MySQL knows itself by.
    let _ = std::fs::remove_file(server.folder().join("data/auto.cnf"));
    let other = Server::builder(engine)
        .name("the server that takes over")
        .copy_of(&server)
        .option("--server-id=2")
        .option("--innodb-lock-wait-timeout=1")
        .start();
    let client = &mut other.connect();
    for call in ["adopt()", "adopt_leaving_out(0)", "raise_ticket('invoices', 7)"] {
        let said = expect_refused(client, &format!("CALL shardid.{call}"), "55000");
        let wanted = "a transaction with numbers does not end: hint: SHOW PROCESSLIST; XA RECOVER, XA COMMIT or XA ROLLBACK, then again";
        assert_eq!(said, wanted, "{call}");
    }
    query::<Row>(client, "XA COMMIT 'payment-17'");
    query::<Row>(client, "CALL shardid.adopt_leaving_out(0)");
    assert_eq!(query::<u64>(client, "SELECT number FROM app.bills"), [1, 1]);
    query::<u64>(client, "CALL shardid.raise_ticket('invoices', 7)");
    let next = "SELECT shardid.next_ticket('orders'), shardid.next_ticket_gapless('invoices')";
    assert_eq!(
        query::<(u64, u64)>(client, next),
        [(2, 8)],
        "what was committed does not come again"
    );
    query::<i64>(client, "SELECT shardid.next_id(5)");
}
