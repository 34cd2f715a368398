//! Making a server: its folder, its options, its port.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::engine::make_data_of;
use super::{Engine, Server, install};
use crate::installation::give;
use crate::start::{free_port, run};
use crate::{Clock, run_folder};

/// How a server is to be made; `Server::builder(engine)` gives one.
#[derive(Debug, Clone)]
pub struct Builder {
    engine: Engine,
    name: String,
    options: Vec<String>,
    clock: Clock,
    zone: Option<String>,
    programs: Option<PathBuf>,
    install: bool,
    copied: Option<PathBuf>,
}

impl Builder {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            name: engine.to_string().to_lowercase(),
            options: Vec::new(),
            clock: Clock::Real,
            zone: None,
            programs: None,
            install: true,
            copied: None,
        }
    }

    /// Names the server in messages.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Adds an option, such as `--server-id=2`.
    #[must_use]
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// Chooses the clock; the machine's by default.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Chooses the system's time zone, as `TZ` names it; UTC by default.
    #[must_use]
    pub fn zone(mut self, zone: &str) -> Self {
        self.zone = Some(zone.to_owned());
        self
    }

    /// Has the server find programs in a folder, before those of the system.
    #[must_use]
    pub fn programs(mut self, folder: PathBuf) -> Self {
        self.programs = Some(folder);
        self
    }

    /// Leaves the server without a schema `shardid`.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.install = false;
        self
    }

    /// Takes a file by file copy of a server that is down, with all that it is known by.
    #[must_use]
    pub fn copy_of(mut self, server: &Server) -> Self {
        self.copied = Some(server.folder().join("data"));
        self
    }

    /// Takes a copy of a data folder, which is that of no server that is up.
    #[must_use]
    pub fn copy_of_data(mut self, folder: &Path) -> Self {
        self.copied = Some(folder.to_owned());
        self
    }

    /// Makes a server with an identity of its own, unless it is a copy, and starts it.
    ///
    /// # Panics
    ///
    /// With the server's log where it does not start.
    pub fn start(self) -> Server {
        let folder = run_folder::numbered();
        give(&folder);
        let data = folder.join("data");
        match &self.copied {
            Some(copied) => copy(copied, &data),
            None => copy_template(self.engine, self.install, &data),
        }
        let mut attempts = 5;
        loop {
            let mut server = Server::new(
                self.engine,
                &self.name,
                &folder,
                free_port(),
                self.options.clone(),
                self.clock,
                self.zone.clone(),
            );
            server.programs.clone_from(&self.programs);
            match server.try_start() {
                Ok(()) => {
                    if self.install && self.copied.is_none() {
                        server.query(
                            "UPDATE shardid.server SET instance = uuid(), home = shardid.here()",
                        );
                    }
                    return server;
                }
                // Somebody may take the port between our look and the server's start.
                Err(log) if attempts > 1 && log.contains("Address already in use") => {
                    attempts -= 1;
                    server.forget();
                }
                Err(log) => panic!("{} does not start:\n{log}", self.name),
            }
        }
    }
}

/// Makes the data folder of a server that was never up, for one that the program starts. What it is
/// in belongs to the servers' user.
pub fn make_data(engine: Engine, data: &Path) {
    copy_template(engine, false, data);
}

fn copy_template(engine: Engine, installed: bool, data: &Path) {
    copy(&template(engine, installed), data);
    // Two servers with one identity would not be two servers.
    let _ = std::fs::remove_file(data.join("auto.cnf"));
}

fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-a").arg(from).arg(to));
}

/// A data folder to copy, made once for each engine: making one takes seconds.
fn template(engine: Engine, installed: bool) -> PathBuf {
    type Made = Mutex<HashMap<(Engine, bool), PathBuf>>;
    static MADE: OnceLock<Made> = OnceLock::new();
    let mut made = MADE.get_or_init(Made::default).lock().unwrap_or_else(PoisonError::into_inner);
    made.entry((engine, installed))
        .or_insert_with(|| {
            let folder = run_folder::numbered();
            give(&folder);
            let data = folder.join("template");
            make_data_of(engine, &data);
            if installed {
                let server = Server::over(engine, "the template", &folder, &data);
                install::install(&server);
                server.stop();
                server.forget();
            }
            data
        })
        .clone()
}
