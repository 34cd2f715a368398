//! Talking to a server: values of the first column, and errors as a user sees them.

use mysql::Conn;
use mysql::prelude::{FromRow, Queryable};

/// An error of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Five characters, such as `42704`; empty where the connection broke.
    pub sqlstate: String,
    /// The message.
    pub message: String,
}

impl From<mysql::Error> for Refused {
    fn from(error: mysql::Error) -> Self {
        match error {
            mysql::Error::MySqlError(error) => {
                Self { sqlstate: error.state, message: error.message }
            }
            other => Self { sqlstate: String::new(), message: other.to_string() },
        }
    }
}

/// Runs SQL, which may be several statements, and returns the rows of the last
/// that has some.
///
/// # Panics
///
/// Where one of them fails.
#[track_caller]
pub fn query<T: FromRow>(client: &mut Conn, sql: &str) -> Vec<T> {
    try_query(client, sql).unwrap_or_else(|refused| panic!("{sql} failed: {refused:?}"))
}

/// As [`query`], but returns what was refused.
pub fn try_query<T: FromRow>(client: &mut Conn, sql: &str) -> Result<Vec<T>, Refused> {
    let mut result = client.query_iter(sql)?;
    let mut rows = Vec::new();
    while let Some(set) = result.iter() {
        let set = set.collect::<Result<Vec<mysql::Row>, _>>()?;
        if !set.is_empty() {
            rows = set;
        }
    }
    Ok(rows.into_iter().map(mysql::from_row).collect())
}

/// Runs SQL that must fail with this SQLSTATE, and returns the message.
///
/// # Panics
///
/// When it succeeds or fails with another.
#[track_caller]
pub fn expect_refused(client: &mut Conn, sql: &str, sqlstate: &str) -> String {
    match try_query::<mysql::Row>(client, sql) {
        Ok(_) => panic!("{sql} should fail with {sqlstate}, and succeeded"),
        Err(refused) => {
            assert_eq!(
                refused.sqlstate, sqlstate,
                "{sql} should fail with {sqlstate}: {refused:?}"
            );
            refused.message
        }
    }
}
