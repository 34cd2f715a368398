//! What `.shardid` holds: the servers' names and ports, and where their data is.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shardid_servers::Account;

use crate::dev::account::give;
use crate::dev::find_mysql::Mysql;
use crate::dev::names::{DATABASE, SUPERUSER};
use crate::dev::start::free_port;
use crate::failure::Failure;
use crate::file::FILE_NAME;
use crate::random;

/// The file that remembers the servers.
const STATE_FILE: &str = "servers.json";

/// The longest folder for sockets: a path to one has at most 107 bytes.
const SOCKET_FOLDER_MAX: usize = 80;

/// The throw-away servers of one folder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The programs of the PostgreSQL they run.
    pub(super) bin: PathBuf,
    /// Where their data, logs and sockets are.
    home: PathBuf,
    /// How many shards the cluster file declares.
    shards: u32,
    /// In the order of the cluster file.
    pub(super) servers: Vec<ServerState>,
    /// Ticket servers, which are MySQL or MariaDB.
    #[serde(default)]
    pub(super) ticket_servers: Vec<ServerState>,
    /// The MySQL or MariaDB that they run.
    #[serde(default)]
    pub(super) mysql: Option<Mysql>,
}

/// One throw-away server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ServerState {
    pub(super) name: String,
    pub(super) port: u16,
}

impl State {
    /// The state of the servers in a folder, if there are any.
    pub(super) fn load(folder: &Path) -> Result<Option<Self>, Failure> {
        let path = folder.join(STATE_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Failure::new(format!("{} cannot be read: {error}", path.display()))
                .hint("remove `.shardid` and begin anew")
        })
    }

    /// Makes the folders, and the password for connections by TCP.
    pub(super) fn create(folder: &Path, account: &Account, shards: u32) -> Result<Self, Failure> {
        make_folder(folder, 0o755)?;
        let home = home(folder, account)?;
        for (name, mode) in [("log", 0o755), ("run", 0o700)] {
            let path = home.join(name);
            make_folder(&path, mode)?;
            give(account, &path)?;
        }
        if home != folder && fs::symlink_metadata(folder.join("log")).is_err() {
            let link = folder.join("log");
            std::os::unix::fs::symlink(home.join("log"), &link)
                .map_err(|e| failed("make", &link, &e))?;
        }
        write(&folder.join(".gitignore"), "*\n", 0o644)?;
        Ok(Self {
            bin: PathBuf::new(),
            home,
            shards,
            servers: Vec::new(),
            ticket_servers: Vec::new(),
            mysql: None,
        })
    }

    /// Refuses another number of shards than these servers were made for.
    pub(super) fn check_shards(&self, shards: Option<u32>) -> Result<(), Failure> {
        match shards {
            Some(shards) if shards != self.shards => Err(Failure::new(format!(
                "these servers were made for {} shards, not {shards}",
                self.shards
            ))
            .hint("begin anew: `shardid dev down --delete`, then `shardid dev up`")),
            _ => Ok(()),
        }
    }

    /// Makes sure that there are so many servers and ticket servers at least.
    pub(super) fn add_servers(&mut self, count: usize, tickets: usize) -> Result<(), Failure> {
        while self.servers.len() < count {
            let name = format!("pg{}", self.servers.len() + 1);
            let port = self.free_port()?;
            self.servers.push(ServerState { name, port });
        }
        while self.ticket_servers.len() < tickets {
            let name = format!("my{}", self.ticket_servers.len() + 1);
            let port = self.free_port()?;
            self.ticket_servers.push(ServerState { name, port });
        }
        Ok(())
    }

    fn free_port(&self) -> Result<u16, Failure> {
        let all = self.servers.iter().chain(&self.ticket_servers);
        free_port(&all.map(|server| server.port).collect::<Vec<u16>>())
    }

    /// How many shards the cluster file declares.
    pub(super) fn shards(&self) -> u32 {
        self.shards
    }

    pub(super) fn save(&self, folder: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self).expect("the state is plain data");
        write(&folder.join(STATE_FILE), &format!("{text}\n"), 0o644)
    }

    /// Where a server's data is.
    pub(super) fn data(&self, server: &ServerState) -> PathBuf {
        self.home.join(&server.name)
    }

    /// Where a server writes its log.
    pub(super) fn log(&self, server: &ServerState) -> PathBuf {
        self.home.join("log").join(format!("{}.log", server.name))
    }

    /// Where the servers' sockets are.
    pub(super) fn sockets(&self) -> PathBuf {
        self.home.join("run")
    }

    /// The socket of a ticket server.
    pub(super) fn socket(&self, server: &ServerState) -> PathBuf {
        self.sockets().join(format!("{}.sock", server.name))
    }

    /// A folder that the servers' user may be in.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// The password of the superuser by TCP, made when first asked for.
    pub(super) fn password(&self) -> Result<String, Failure> {
        let path = self.home.join("run").join("password");
        if let Ok(password) = fs::read_to_string(&path) {
            return Ok(password.trim().to_owned());
        }
        let password = random::text(24)?;
        write(&path, &password, 0o600)?;
        Ok(password)
    }

    /// The command to look around on a server.
    pub(super) fn psql(&self, server: &ServerState) -> String {
        let sockets = self.sockets();
        format!("psql -h {} -p {} -U {SUPERUSER} {DATABASE}", sockets.display(), server.port)
    }

    /// Removes everything that was made, and the folder unless something else is in it.
    pub(super) fn delete(&self, folder: &Path) -> Result<(), Failure> {
        let all = self.servers.iter().chain(&self.ticket_servers);
        let mut made: Vec<PathBuf> = all.map(|server| self.data(server)).collect();
        made.extend(["log", "run"].map(|name| self.home.join(name)));
        if self.home != folder {
            made.push(folder.join("log"));
        }
        for name in ["pgpass", FILE_NAME, ".gitignore", STATE_FILE] {
            made.push(folder.join(name));
        }
        for path in made {
            let Ok(data) = fs::symlink_metadata(&path) else { continue };
            let removed =
                if data.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|error| failed("remove", &path, &error))?;
        }
        for path in [&self.home, folder] {
            // What somebody else has put there stays.
            let _ = fs::remove_dir(path);
        }
        Ok(())
    }
}

/// Where the servers live: here, unless their user may not be here or sockets
/// would have too long a path.
fn home(folder: &Path, account: &Account) -> Result<PathBuf, Failure> {
    let fits = folder.join("run").as_os_str().len() <= SOCKET_FOLDER_MAX;
    if fits && account.may_enter(folder) {
        return Ok(folder.to_owned());
    }
    let name = random::text(8)?;
    let home = Path::new("/var/tmp").join(format!("shardid-dev-{name}"));
    make_folder(&home, 0o755)?;
    if !account.owns(&home) {
        return Err(Failure::new(format!("{} belongs to somebody else", home.display())));
    }
    Ok(home)
}

fn make_folder(path: &Path, mode: u32) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode)))
        .map_err(|error| failed("make", path, &error))
}

/// Writes a file beside and renames it: it is whole or it is the old one.
pub(super) fn write(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let beside = path.with_extension("new");
    let written = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("could not {what} {}: {error}", path.display()));
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => failure
            .hint("were these servers started by root? then stop them as root: `sudo shardid dev down --delete`"),
        _ => failure,
    }
}
