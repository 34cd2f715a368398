//! Data folders to copy: `initdb` takes ten times as long as a copy and an identity of its own.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rand::Rng;

use crate::installation::as_server;
use crate::start::run;
use crate::{Installation, run_folder};

/// What PostgreSQL protects its control file with.
const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);

/// Makes a data folder as `initdb` does, with a system identifier that no other server has.
///
/// # Panics
///
/// With the words of the program that fails.
pub(crate) fn make_data(installation: &Installation, checksums: bool, data: &Path) {
    type Made = Mutex<HashMap<(PathBuf, bool), Arc<OnceLock<PathBuf>>>>;
    static MADE: OnceLock<Made> = OnceLock::new();
    let made = {
        let key = (installation.program("initdb"), checksums);
        let mut made =
            MADE.get_or_init(Made::default).lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(made.entry(key).or_default())
    };
    let template = made.get_or_init(|| init(installation, checksums));
    run(as_server("cp".as_ref(), &[]).arg("-a").arg(template).arg(data));
    identify(data);
    // The WAL has the identifier as well; it is made anew.
    run(installation.as_server("pg_resetwal", &[]).args(["--force", "--pgdata"]).arg(data));
}

fn init(installation: &Installation, checksums: bool) -> PathBuf {
    let folder = run_folder::numbered();
    installation.give(&folder);
    let data = folder.join("template");
    let mut command = installation.as_server("initdb", &[]);
    command
        .args(["--username=postgres", "--auth=trust", "--no-sync"])
        .args(["--no-locale", "--encoding=UTF8", "--pgdata"])
        .arg(&data);
    if checksums {
        command.arg("--data-checksums");
    } else if installation.major() >= 18 {
        command.arg("--no-data-checksums");
    }
    run(&mut command);
    for entry in fs::read_dir(data.join("pg_wal")).expect("initdb has made it").flatten() {
        if entry.path().is_file() {
            fs::remove_file(entry.path()).expect("we are its owner, or root");
        }
    }
    data
}

/// Gives a data folder another system identifier.
///
/// It is the first field of the control file, and the time of `initdb` in its upper half; the
/// last field is the checksum of all before it, at a place that differs between versions.
fn identify(data: &Path) {
    let path = data.join("global/pg_control");
    let mut control = fs::read(&path).expect("a data folder has it");
    let word = |at: usize| u32::from_le_bytes(control[at..at + 4].try_into().expect("it is four"));
    let end = (8..control.len() - 4)
        .step_by(4)
        .find(|end| CRC.checksum(&control[..*end]) == word(*end))
        .expect("the control file has a checksum");
    control[..4].copy_from_slice(&rand::rng().random::<[u8; 4]>());
    let sum = CRC.checksum(&control[..end]);
    control[end..end + 4].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, control).expect("it can be written");
}
