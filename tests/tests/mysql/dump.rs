//! Dump and restore: what is restored goes on above what was handed out.

use std::io::Write;
use std::process::Stdio;

use shardid_tests::my::{Engine, Server, query};
use shardid_tests::on_both_engines;

use crate::harness::{ids, new_shard};

on_both_engines!(a_dump_restores_and_goes_on, installing_again_keeps_everything);

fn a_dump_restores_and_goes_on(engine: Engine) {
    let origin = Server::builder(engine).start();
    let shard = new_shard(&origin, "instagram");
    origin.query(
        "CALL shardid.create_ticket('photos', 2, 3); CALL shardid.create_segment('orders', 100)",
    );
    origin.query("CREATE DATABASE flickr; CALL shardid.create_flickr_tables('flickr', 1, 2)");
    let client = &mut origin.connect();
    let last = *ids(client, shard, 50).last().expect("fifty");
    assert_eq!(query::<u64>(client, "SELECT shardid.next_tickets('photos', 10)"), [2]);
    query::<(i64, i64, i64)>(client, "CALL shardid.next_segment('orders', NULL)");
    query::<u64>(client, "REPLACE INTO flickr.Tickets64 (stub) VALUES ('a')");
    query::<u64>(client, "REPLACE INTO flickr.Tickets64 (stub) VALUES ('a')");
    let dump = origin
        .command("dump")
        .args([
            "--routines",
            "--triggers",
            "--single-transaction",
            "--databases",
            "shardid",
            "flickr",
        ])
        .output()
        .expect("the dump runs");
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));

    let restored = Server::builder(engine).bare().option("--server-id=2").start();
    let mut input =
        restored.command("client").stdin(Stdio::piped()).spawn().expect("the client runs");
    input.stdin.take().expect("a pipe").write_all(&dump.stdout).expect("it reads");
    assert!(input.wait().expect("it ends").success());
    let client = &mut restored.connect();
    // It is another server, and numbers may have been handed out since the dump.
    query::<shardid_tests::mysql::Row>(client, "CALL shardid.adopt_leaving_out(0)");
    assert!(ids(client, shard, 1)[0] > last);
    assert_eq!(query::<u64>(client, "SELECT shardid.next_ticket('photos')"), [32]);
    assert_eq!(
        query::<(i64, i64, i64)>(client, "CALL shardid.next_segment('orders', NULL)"),
        [(101, 200, 1)]
    );
    assert_eq!(
        query::<u64>(
            client,
            "REPLACE INTO flickr.Tickets64 (stub) VALUES ('a'); SELECT last_insert_id()"
        ),
        [5]
    );
    // It can be told from its origin only by the mark that is left at each look.
    let instance = "SELECT instance FROM shardid.server";
    assert_eq!(origin.value::<String>(instance), restored.value::<String>(instance));
}

fn installing_again_keeps_everything(engine: Engine) {
    let server = Server::builder(engine).start();
    let shard = new_shard(&server, "instagram");
    server.query("CALL shardid.create_ticket('photos', 2, 3); CALL shardid.create_flickr_tables('shardid_views', 1, 2)".replace("shardid_views", "mysql").as_str());
    let client = &mut server.connect();
    let last = ids(client, shard, 1)[0];
    query::<u64>(
        client,
        "SELECT shardid.next_ticket('photos'); REPLACE INTO mysql.Tickets64 (stub) VALUES ('a')",
    );
    let instance: String = server.value("SELECT instance FROM shardid.server");
    server.install();
    assert_eq!(server.value::<String>("SELECT instance FROM shardid.server"), instance);
    assert!(ids(&mut server.connect(), shard, 1)[0] > last);
    assert_eq!(query::<u64>(client, "SELECT shardid.next_ticket('photos')"), [5]);
    assert_eq!(
        query::<u64>(
            client,
            "REPLACE INTO mysql.Tickets64 (stub) VALUES ('a'); SELECT last_insert_id()"
        ),
        [3]
    );
}
