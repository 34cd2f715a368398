//! The texts of new cluster files.

/// Where the throw-away servers keep their things, and their cluster file.
pub(crate) const EMBEDDED_FOLDER: &str = ".shardid";

/// What `shardid init` writes.
pub(crate) const TEMPLATE: &str = include_str!("template.toml");
