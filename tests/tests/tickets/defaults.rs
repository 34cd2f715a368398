//! The program means the same whatever the sessions of a server begin with.

use crate::on_both_engines;
use crate::servers::{Engine, Servers, may_ask};

on_both_engines! {
    what_init_connect_sets_changes_nothing,
    a_server_is_the_one_it_is_in_every_session,
}

/// A session of whoever has not SUPER begins with it.
fn what_init_connect_sets_changes_nothing(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    for node in ["my1", "my2"] {
        make_tool(&servers, node);
        servers.sql(node, "SET GLOBAL init_connect = 'SET autocommit = 0, sql_select_limit = 1; START TRANSACTION READ ONLY'");
    }
    servers.edit("mysql://root@localhost/app?", "mysql://tool@localhost/?");
    servers.run(&["apply", "--yes"]).ok();
    servers.sql("my2", "SELECT shardid.next_tickets('orders', 1000)");
    servers.is_clean();
    // What it has seen is remembered, so that a server from a backup is noticed.
    let seen =
        servers.sql("my1", "SELECT last_number FROM shardid.ticket_server WHERE node = 'my2'");
    assert_eq!(seen, "2000");
}

/// MySQL shows its uuid in the character set of file names: it seemed another server, so its tickets were raised, and what
/// came after that was not known by the mark.
fn a_server_is_the_one_it_is_in_every_session(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.run(&["tickets", "verify"]).ok();
    for node in ["my1", "my2"] {
        servers.sql(node, "SET GLOBAL character_set_filesystem = 'ucs2'");
    }
    servers.is_clean();
    if engine == Engine::MySql {
        for node in ["my1", "my2"] {
            make_tool(&servers, node);
            servers.sql(node, "SET GLOBAL init_connect = 'SET use_secondary_engine = FORCED'");
        }
        servers.edit("mysql://root@localhost/app?", "mysql://tool@localhost/?");
        servers.is_clean();
    }
}

/// Makes a user whose sessions begin with what `init_connect` says: those with SUPER do not.
fn make_tool(servers: &Servers, node: &str) {
    let may_ask = may_ask("tool@localhost");
    servers.sql(node, &format!(
        "CREATE USER tool@localhost; GRANT ALL ON shardid.* TO tool@localhost WITH GRANT OPTION; GRANT SELECT ON mysql.procs_priv TO tool@localhost; GRANT SELECT ON mysql.user TO tool@localhost; {may_ask}; SET GLOBAL log_bin_trust_function_creators = 1"
    ));
}
