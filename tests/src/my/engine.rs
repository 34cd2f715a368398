//! The two engines: where their programs are, and what differs between them.

use std::path::{Path, PathBuf};
use std::process::Command;

use shardid_servers::{Engine, Program};

use crate::installation::{account, as_server};
use crate::start::run;

/// The program of a server, or `None` where there is none: MariaDB is the installed one, MySQL the
/// one that `scripts/servers-mysql` has fetched.
///
/// `SHARDID_MARIADBD` and `SHARDID_MYSQLD` name others than the usual ones.
pub fn find(engine: Engine) -> Option<PathBuf> {
    let (variable, usual) = match engine {
        Engine::MariaDb => (
            "SHARDID_MARIADBD",
            vec!["/usr/sbin/mariadbd".into(), "/usr/local/sbin/mariadbd".into()],
        ),
        Engine::MySql => (
            "SHARDID_MYSQLD",
            vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/servers/mysql/bin/mysqld")],
        ),
    };
    match std::env::var_os(variable) {
        Some(path) => (!path.is_empty()).then(|| path.into()),
        None => usual.into_iter().find(|path: &PathBuf| path.exists()),
    }
}

/// The program of a server.
///
/// # Panics
///
/// Where there is none, with what helps.
pub(crate) fn program(engine: Engine) -> Program {
    let path = find(engine).unwrap_or_else(|| {
        panic!("there is no {engine} here: run `make deps`, then scripts/servers-mysql")
    });
    Program { path, engine }
}

/// Makes a data folder with a user `root` that needs no password. Temporary
/// tables go to the folder beside it, which no other server has.
pub(crate) fn make_data_of(engine: Engine, data: &Path) {
    let beside = data.parent().expect("it is in a folder");
    run(&mut program(engine).make_data(account(), data, beside));
}

/// The server's options that only this engine has.
pub(crate) fn options(engine: Engine) -> &'static [&'static str] {
    match engine {
        Engine::MariaDb => &["--innodb-log-file-size=32M"],
        Engine::MySql => {
            &["--mysqlx=OFF", "--innodb-redo-log-capacity=32M", "--performance-schema=OFF"]
        }
    }
}

/// A command for the server's program.
pub(crate) fn command(engine: Engine, variables: &[(&str, String)]) -> Command {
    as_server(&program(engine).path, variables)
}
