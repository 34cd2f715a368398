//! Whom the throw-away servers belong to: PostgreSQL refuses to run as root.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{User, geteuid};

use crate::failure::Failure;

/// The user that servers run as.
pub(super) struct Account {
    uid: u32,
    /// The user to become; `None` where we are that user already.
    switch: Option<User>,
}

impl Account {
    /// Ourselves, or an unprivileged user where we are root.
    pub(super) fn for_servers() -> Result<Self, Failure> {
        if !geteuid().is_root() {
            return Ok(Self { uid: geteuid().as_raw(), switch: None });
        }
        let user =
            ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
        match user.filter(|user| !user.uid.is_root()) {
            Some(user) => Ok(Self { uid: user.uid.as_raw(), switch: Some(user) }),
            None => Err(Failure::new("there is no unprivileged user to run PostgreSQL as")
                .hint("create one: `useradd --system postgres`")),
        }
    }

    /// A command that this user runs, in a folder it may be in, without the
    /// variables that would make a server behave oddly.
    pub(super) fn command(&self, program: &Path, folder: &Path) -> Command {
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

    /// Gives a folder of ours to this user.
    pub(super) fn give(&self, path: &Path) -> Result<(), Failure> {
        let Some(user) = &self.switch else { return Ok(()) };
        chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).map_err(|error| {
            Failure::new(format!(
                "could not give {} to user {}: {error}",
                path.display(),
                user.name
            ))
        })
    }

    /// Whether this user may be in a folder.
    pub(super) fn may_enter(&self, folder: &Path) -> bool {
        let mut command = self.command(Path::new("test"), Path::new("/"));
        command.arg("-x").arg(folder);
        command.status().is_ok_and(|status| status.success())
    }

    /// Whether a path belongs to this user or to ourselves.
    pub(super) fn owns(&self, path: &Path) -> bool {
        std::fs::symlink_metadata(path)
            .is_ok_and(|data| data.is_dir() && [self.uid, geteuid().as_raw()].contains(&data.uid()))
    }

    /// The user's name, for a person.
    pub(super) fn name(&self) -> String {
        self.switch.as_ref().map_or_else(|| "you".to_owned(), |user| user.name.clone())
    }
}
