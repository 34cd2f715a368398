//! How is a statement from `sql/postgres` put into the program?

/// One statement from a file under `sql/postgres`.
macro_rules! sql {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/postgres/", $path))
    };
    // A query over what the first says.
    ($over:literal, $path:literal) => {
        concat!(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/postgres/", $over)),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/postgres/", $path))
        )
    };
}
pub(crate) use sql;
