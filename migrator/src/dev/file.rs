//! The cluster file of throw-away servers, and their passwords.

use std::path::Path;

use crate::dev::names::{DATABASE, ROOT, SUPERUSER, USER};
use crate::dev::state::{State, write};
use crate::failure::Failure;
use crate::file::FILE_NAME;

/// The ticket that all throw-away ticket servers share.
const TICKET: &str = "orders";

/// Writes the cluster file and the passwords for connections by TCP.
pub(super) fn write_cluster_file(state: &State, folder: &Path) -> Result<(), Failure> {
    let mut text =
        "# Throw-away servers, made by `shardid dev up`; it writes this file anew each time.\n\n\
                    [cluster]\nname    = \"dev\"\n"
            .to_owned();
    let first = state.servers.first().or(state.ticket_servers.first());
    let catalog = first.map_or("", |server| server.name.as_str());
    if !state.servers.is_empty() {
        let layout = shardid_ids::DEFAULT_LAYOUT;
        text.push_str(&format!("shards  = {}\nlayout  = \"{layout}\"\n", state.shards()));
    }
    text.push_str(&format!("catalog = \"{catalog}\"\n"));
    let mut passwords = String::new();
    let password = state.password()?;
    for server in &state.servers {
        let mut url = url::Url::parse(&format!("postgres:///{DATABASE}")).expect("a fixed text");
        url.query_pairs_mut()
            .append_pair("host", &state.sockets().to_string_lossy())
            .append_pair("port", &server.port.to_string())
            .append_pair("user", SUPERUSER);
        node(&mut text, &server.name, &url);
        passwords.push_str(&format!("127.0.0.1:{}:*:{SUPERUSER}:{password}\n", server.port));
    }
    for server in &state.ticket_servers {
        let mut url =
            url::Url::parse(&format!("mysql://{ROOT}@localhost/{DATABASE}")).expect("a fixed text");
        url.query_pairs_mut().append_pair("socket", &state.socket(server).to_string_lossy());
        node(&mut text, &server.name, &url);
        passwords.push_str(&format!("# MySQL: 127.0.0.1:{} user {USER} {password}\n", server.port));
    }
    if !state.ticket_servers.is_empty() {
        let names: Vec<String> =
            state.ticket_servers.iter().map(|server| format!("\"{}\"", server.name)).collect();
        text.push_str(&format!("\n[tickets.{TICKET}]\nservers = [{}]\n", names.join(", ")));
    }
    write(&folder.join(FILE_NAME), &text, 0o644)?;
    write(&folder.join("pgpass"), &passwords, 0o600)
}

fn node(text: &mut String, name: &str, url: &url::Url) {
    // A socket's path reads better with its slashes.
    let url = url.as_str().replace("%2F", "/");
    text.push_str(&format!("\n[nodes.{name}]\nurl = \"{url}\"\n"));
}
