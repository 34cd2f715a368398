//! Whom throw-away servers belong to: PostgreSQL refuses to run as root.

use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{User, geteuid};

/// The users that servers run as where we are root: the first that is there.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// The user that servers run as.
#[derive(Debug, Clone)]
pub struct Account {
    uid: u32,
    /// The user to become; `None` where we are that user already.
    switch: Option<User>,
}

impl Account {
    /// Ourselves, or an unprivileged user where we are root; `None` where there is no such user.
    pub fn for_servers() -> Option<Self> {
        if !geteuid().is_root() {
            return Some(Self { uid: geteuid().as_raw(), switch: None });
        }
        let user = UNPRIVILEGED.iter().find_map(|name| User::from_name(name).ok().flatten());
        user.filter(|user| !user.uid.is_root())
            .map(|user| Self { uid: user.uid.as_raw(), switch: Some(user) })
    }

    /// A command that this user runs, in a folder it may be in, without the variables that would
    /// make a server behave oddly. Further variables are those of the program alone, not of
    /// whatever changes the user: a library that is preloaded before makes files that the user may
    /// not open.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let Some(text) = name.to_str() else { continue };
            // Backtraces of a server leak into the DETAIL that its clients see.
            if text.starts_with("PG") || matches!(text, "RUST_BACKTRACE" | "RUST_LIB_BACKTRACE") {
                command.env_remove(text);
            }
        }
        if let Some(user) = &self.switch {
            // As root this also drops all supplementary groups.
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw()).env("HOME", folder);
        }
        command
    }

    /// Gives a file or folder of ours to this user.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        let Some(user) = &self.switch else { return Ok(()) };
        chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
    }

    /// Whether this user may be in a folder.
    pub fn may_enter(&self, folder: &Path) -> bool {
        let mut command = self.command(Path::new("test"), Path::new("/"));
        command.arg("-x").arg(folder);
        command.status().is_ok_and(|status| status.success())
    }

    /// Whether a folder belongs to this user or to ourselves.
    pub fn owns(&self, path: &Path) -> bool {
        std::fs::symlink_metadata(path)
            .is_ok_and(|data| data.is_dir() && [self.uid, geteuid().as_raw()].contains(&data.uid()))
    }

    /// The user's name, for a person.
    pub fn name(&self) -> &str {
        self.switch.as_ref().map_or("you", |user| &user.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_run_by_who_is_not_root_in_its_folder_with_its_own_variables() {
        let account = Account::for_servers().expect("there is a user for servers");
        let mut command = account.command(Path::new("sh"), Path::new("/"));
        command.env("OF_ITS_OWN", "1");
        let output =
            command.args(["-c", "id -u; pwd; echo $OF_ITS_OWN"]).output().expect("it runs");
        let said = String::from_utf8(output.stdout).expect("it is text");
        let [uid, folder, variable] = said.lines().collect::<Vec<_>>()[..] else {
            panic!("three lines: {said}")
        };
        assert_ne!(uid, "0");
        assert_eq!((folder, variable), ("/", "1"));
    }
}
