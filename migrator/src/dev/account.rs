//! Whom the throw-away servers belong to, or what is the matter with that.

use std::path::Path;

use shardid_servers::Account;

use crate::failure::Failure;

/// Ourselves, or an unprivileged user where we are root.
pub(super) fn for_servers() -> Result<Account, Failure> {
    Account::for_servers().ok_or_else(|| {
        Failure::new("there is no unprivileged user to run PostgreSQL as")
            .hint("create one: `useradd --system postgres`")
    })
}

/// Gives a file or folder of ours to the servers' user.
pub(super) fn give(account: &Account, path: &Path) -> Result<(), Failure> {
    account.give(path).map_err(|error| {
        Failure::new(format!(
            "could not give {} to user {}: {error}",
            path.display(),
            account.name()
        ))
    })
}
