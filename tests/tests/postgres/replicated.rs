//! Tables of the extension in a publication: what they say is true of one server.

use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Server, wait_until};

use crate::ask::{ids, one, run};

/// All that the tables of the extension say.
const ROWS: &str = "SELECT 's', * FROM shardid.shard ORDER BY shard; SELECT 'l', * FROM shardid.layout ORDER BY name; \
     SELECT 'i', * FROM shardid.id_sequence ORDER BY 2; SELECT 'd', * FROM shardid.dropped_id_sequence; SELECT 'c', * FROM shardid.cluster; SELECT 't', * FROM shardid.ticket ORDER BY name; \
     SELECT 'm', * FROM shardid.server; SELECT 'g', * FROM shardid.segment ORDER BY tag";

/// A subscription to everything that another server publishes.
fn follow(subscriber: &Database<'_>, publisher: &Database<'_>, name: &str) {
    publisher.psql(&format!("CREATE PUBLICATION {name} FOR ALL TABLES"));
    subscriber.psql(&format!(
        "CREATE SUBSCRIPTION {name} CONNECTION '{}' PUBLICATION {name}",
        publisher.url().replace("postgresql://", "postgres://")
    ));
}

fn wait_for(client: &mut Client, condition: &str) {
    wait_until(Duration::from_secs(60), condition, || one(client, condition));
}

/// A table that comes to the extension is in such a publication, too.
#[test]
fn every_table_of_the_extension_ignores_what_is_replicated_and_may_be_published() {
    let without = "SELECT c.oid::regclass FROM pg_class c \
         JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e' \
         WHERE c.relkind = 'r' AND c.relnamespace = 'shardid'::regnamespace AND (NOT EXISTS (SELECT FROM pg_trigger t \
                 WHERE t.tgrelid = c.oid AND t.tgname = 'replicated_row' AND t.tgenabled = 'R' AND t.tgtype & 31 = 31) \
             OR c.relreplident <> 'f' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))";
    let database = Database::fresh();
    assert_eq!(database.psql(without), "");
    // As pg_restore --disable-triggers does, which has every trigger fire where it does not belong.
    database.psql(
        "DO $do$ DECLARE one regclass; BEGIN \
             FOR one IN SELECT tgrelid FROM pg_trigger WHERE tgname = 'replicated_row' LOOP \
                 EXECUTE format('ALTER TABLE %s DISABLE TRIGGER ALL', one); \
                 EXECUTE format('ALTER TABLE %s ENABLE TRIGGER ALL', one); \
                 EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER replicated_row', one); \
             END LOOP; END $do$",
    );
    assert_eq!(database.psql(without), "");
    // Nor does it have others of them not fire.
    let as_made = "SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger t JOIN pg_depend d ON d.objid = tgrelid AND d.deptype = 'e' \
         WHERE NOT tgisinternal ORDER BY 1, 2";
    let before = Database::fresh().psql(as_made);
    assert!(before.contains("shardid.id_sequence|row_restored|A"), "{before}");
    assert_eq!(database.psql(as_made), before);
    for (table, which) in
        [("id_sequence", "ALL"), ("ticket", "USER"), ("layout", "layout_is_frozen")]
    {
        database.psql(&format!("ALTER TABLE shardid.{table} DISABLE TRIGGER {which}"));
        assert_eq!(database.psql(as_made), before, "{table}");
    }
    // What anybody may call leaves tables of others alone.
    let mine = "SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'mine'::regclass";
    database.psql(
        "CREATE TABLE mine (); CREATE TRIGGER t BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger(); \
         ALTER TABLE mine DISABLE TRIGGER t; SELECT shardid.keep_triggers('mine'::regclass)",
    );
    assert_eq!(database.psql(mine), "D");
}

/// A subscriber with the extension failed for ever at rows that it had itself, and held the
/// publisher's WAL; and a change of the map failed on the publisher.
#[test]
fn a_publication_for_all_tables_carries_rows_and_not_what_is_true_of_one_server() {
    let (one_server, other_server) = (
        Server::builder().name("publisher").fsync(false).start(),
        Server::builder().name("subscriber").fsync(false).start(),
    );
    let (publisher, subscriber) = (Database::on(&one_server), Database::on(&other_server));
    for database in [&publisher, &subscriber] {
        database.psql(
            "SELECT create_shard(5), create_shard(6), create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000), create_id_sequence('t_id', 5); \
             SELECT create_ticket('photos', 1, 2), create_segment('orders', 10); INSERT INTO shardid.server (mark) VALUES ('m'); \
             CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5), what text)",
        );
    }
    publisher.psql(
        "INSERT INTO t (what) VALUES ('before'); SELECT create_shard(7), next_ticket_gapless('photos'); \
         INSERT INTO shardid.cluster VALUES ('c', 'pg1', 'instagram', 16, 1)",
    );
    let before = subscriber.psql(ROWS);
    follow(&subscriber, &publisher, "everything");
    let (mut here, mut there) = (publisher.connect(), subscriber.connect());
    let synchronized = "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel";
    wait_for(&mut there, synchronized);
    assert_eq!(subscriber.psql(ROWS), before);
    // Each kind of change, of rows that are there and of rows that are not.
    run(
        &mut here,
        "SELECT create_shard(8), drop_shard(6), drop_ticket('photos'), drop_segment('orders'), create_ticket('bills'), next_ticket_gapless('bills'); \
         UPDATE shardid.shard SET state = 'fenced' WHERE shard = 5; UPDATE shardid.shard SET state = 'open' WHERE shard = 5; \
         UPDATE shardid.cluster SET map_version = 2; UPDATE shardid.server SET mark = 'other'; \
         SELECT create_layout('unused', '2026-01-01Z', '10 ms', 1000, 1000); DELETE FROM shardid.layout WHERE name = 'unused'; \
         DROP SEQUENCE t_id; DELETE FROM shardid.id_sequence; DELETE FROM shardid.cluster; INSERT INTO t (what) VALUES ('after')",
    );
    wait_for(&mut there, "SELECT count(*) = 2 FROM t");
    assert_eq!(subscriber.psql(ROWS), before);
    // What it does itself counts, and so does a dump that is loaded as replicas are.
    run(
        &mut there,
        "SELECT next_id(5), next_id(6), create_shard(9); SET session_replication_role = replica; \
         INSERT INTO shardid.shard (shard, layout, state, node) VALUES (10, 'instagram', 'moved', 'pg2')",
    );
    assert_eq!(
        ids(&mut there, "SELECT shard::bigint FROM shardid.shard ORDER BY 1"),
        [5, 6, 9, 10]
    );
    // And the other way.
    let before = publisher.psql(ROWS);
    other_server.psql(subscriber.name(), "ALTER SUBSCRIPTION everything DISABLE");
    run(&mut there, "RESET session_replication_role");
    subscriber.psql("TRUNCATE t");
    publisher.psql("TRUNCATE t");
    follow(&publisher, &subscriber, "back");
    wait_for(&mut here, synchronized);
    run(&mut there, "INSERT INTO t (what) VALUES ('back'); SELECT create_shard(11), drop_shard(6)");
    wait_for(&mut here, "SELECT count(*) = 1 FROM t");
    assert_eq!(publisher.psql(ROWS), before);
    subscriber.psql("DROP SUBSCRIPTION everything");
    publisher.psql("DROP SUBSCRIPTION back");
}

/// What a trigger of the subscriber's own did was left out, too: every row got the same number of
/// a gapless ticket, and so did the next session.
#[test]
fn what_a_trigger_of_the_subscriber_makes_and_takes_counts() {
    let (one_server, other_server) = (
        Server::builder().name("publisher").fsync(false).start(),
        Server::builder().name("subscriber").fsync(false).start(),
    );
    let (publisher, subscriber) = (Database::on(&one_server), Database::on(&other_server));
    for database in [&publisher, &subscriber] {
        database.psql("CREATE TABLE t (id int PRIMARY KEY, what text)");
    }
    subscriber.psql(
        "SELECT create_shard(5), create_shard(6), create_ticket('invoices'), create_ticket('gone'), create_id_sequence('own', 5); \
         CREATE TABLE invoices (id int, number bigint); \
         CREATE FUNCTION bill() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$ BEGIN \
             INSERT INTO invoices VALUES (NEW.id, next_ticket_gapless('invoices')); \
             IF NEW.id = 1 THEN \
                 PERFORM create_shard(7), drop_shard(6), drop_ticket('gone'), create_ticket('later'), create_segment('orders', 10); \
                 DROP SEQUENCE own; \
             END IF; RETURN NULL; END $$; \
         CREATE TRIGGER bill AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION bill(); ALTER TABLE t ENABLE ALWAYS TRIGGER bill",
    );
    follow(&subscriber, &publisher, "everything");
    let mut there = subscriber.connect();
    wait_for(&mut there, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel");
    publisher.psql("SELECT create_shard(40); INSERT INTO t SELECT generate_series(1, 4)");
    wait_for(&mut there, "SELECT count(*) = 4 FROM t");
    assert_eq!(ids(&mut there, "SELECT number FROM invoices ORDER BY id"), [1, 2, 3, 4]);
    assert_eq!(ids(&mut there, "SELECT next_ticket_gapless('invoices')"), [5]);
    assert_eq!(
        subscriber.psql(
            "SELECT shard, state FROM shardid.shard ORDER BY 1; SELECT name FROM shardid.ticket ORDER BY 1; \
             SELECT tag FROM shardid.segment; SELECT count(*) FROM shardid.id_sequence; SELECT shard FROM shardid.dropped_id_sequence"
        ),
        "5|open\n6|dropped\n7|open\ninvoices\nlater\norders\n0\n5"
    );
}

/// There it is no trigger that takes the number, and nothing would remember it.
#[test]
fn a_gapless_number_in_a_default_is_refused_where_rows_are_replicated() {
    let (one_server, other_server) = (
        Server::builder().name("publisher").fsync(false).start(),
        Server::builder().name("subscriber").fsync(false).start(),
    );
    let (publisher, subscriber) = (Database::on(&one_server), Database::on(&other_server));
    publisher.psql("CREATE TABLE t (id int PRIMARY KEY)");
    subscriber.psql(
        "SELECT create_ticket('invoices'); CREATE TABLE t (id int PRIMARY KEY, number bigint DEFAULT next_ticket_gapless('invoices'))",
    );
    follow(&subscriber, &publisher, "everything");
    let mut there = subscriber.connect();
    wait_for(&mut there, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel");
    publisher.psql("INSERT INTO t SELECT generate_series(1, 4)");
    wait_for(&mut there, "SELECT bool_or(apply_error_count > 0) FROM pg_stat_subscription_stats");
    assert_eq!(subscriber.psql("SELECT count(*) FROM t"), "0");
    assert_eq!(ids(&mut there, "SELECT next_ticket_gapless('invoices')"), [1]);
    run(&mut there, "ALTER TABLE t ALTER number DROP DEFAULT");
    wait_for(&mut there, "SELECT count(*) = 4 FROM t");
}
