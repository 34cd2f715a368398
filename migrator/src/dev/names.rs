//! What are the database and the users of throw-away servers called?

/// The database on each server.
pub(super) const DATABASE: &str = "app";

/// PostgreSQL's superuser.
pub(super) const SUPERUSER: &str = "postgres";

/// MySQL's superuser, by the socket alone.
pub(super) const ROOT: &str = "root";

/// The user of MySQL by TCP, with the password of all throw-away servers.
pub(super) const USER: &str = "shardid";
