//! How is a statement run on a server of any engine?

/// Runs one statement from `sql/postgres` or `sql/mysql`, whichever the session
/// speaks, with the same parameters for both; how many rows it has changed.
macro_rules! changed {
    ($session:expr, $path:literal, $($value:expr),+ $(,)?) => {
        match $session {
            $crate::tickets::Session::Postgres(connection) => {
                sqlx::query(include_str!(concat!("../../../sql/postgres/", $path)))
                    $(.bind($value))+
                    .execute(connection)
                    .await
                    .map(|done| done.rows_affected())
            }
            $crate::tickets::Session::Mysql(connection) => {
                sqlx::query(include_str!(concat!("../../../sql/mysql/", $path)))
                    $(.bind($value))+
                    .execute(connection)
                    .await
                    .map(|done| done.rows_affected())
            }
        }
    };
}

/// The same where it does not matter how many.
macro_rules! run {
    ($session:expr, $path:literal, $($value:expr),+ $(,)?) => {
        $crate::tickets::statement::changed!($session, $path, $($value),+).map(|_| ())
    };
}

/// The rows of such a statement, as a type that both drivers can read.
macro_rules! rows {
    ($session:expr, $path:literal $(, $value:expr)*) => {
        match $session {
            $crate::tickets::Session::Postgres(connection) => {
                sqlx::query_as(include_str!(concat!("../../../sql/postgres/", $path)))
                    $(.bind($value))*
                    .fetch_all(connection)
                    .await
            }
            $crate::tickets::Session::Mysql(connection) => {
                sqlx::query_as(include_str!(concat!("../../../sql/mysql/", $path)))
                    $(.bind($value))*
                    .fetch_all(connection)
                    .await
            }
        }
    };
}

pub(super) use {changed, rows, run};
