//! How is a statement from `sql/postgres` put into the program?

/// One statement from a file under `sql/postgres`.
macro_rules! sql {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/postgres/", $path))
    };
    // A query over what the first ones say.
    ($($path:literal),+) => { concat!($(sql!($path)),+) };
}
pub(crate) use sql;
