//! How is a statement from `sql/mysql` put into the program?

/// One statement from a file under `sql/mysql`.
macro_rules! sql {
    ($path:literal) => {
        include_str!(concat!("../../../sql/mysql/", $path))
    };
}
pub(crate) use sql;
