//! What a server says when it refuses a statement.

use postgres::GenericClient;
use postgres::error::DbError;

/// An error of the server, in the parts that a user sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Five characters, such as `42704`.
    pub sqlstate: String,
    /// The message.
    pub message: String,
    /// The detail, or an empty string.
    pub detail: String,
    /// The hint, or an empty string.
    pub hint: String,
}

impl Refusal {
    /// Returns what the server said, or `None` for an error of the connection.
    pub fn of(error: &postgres::Error) -> Option<Self> {
        error.as_db_error().map(Self::from)
    }
}

impl From<&DbError> for Refusal {
    fn from(error: &DbError) -> Self {
        Self {
            sqlstate: error.code().code().to_owned(),
            message: error.message().to_owned(),
            detail: error.detail().unwrap_or_default().to_owned(),
            hint: error.hint().unwrap_or_default().to_owned(),
        }
    }
}

/// Runs SQL that must fail with this SQLSTATE, and returns what was said.
///
/// Several statements may be given; they are one transaction, and the last one
/// to be reached is the one that fails.
///
/// # Panics
///
/// When the SQL succeeds, fails with another SQLSTATE, or the connection breaks.
#[track_caller]
pub fn expect_error(client: &mut impl GenericClient, sql: &str, sqlstate: &str) -> Refusal {
    let Err(error) = client.batch_execute(sql) else {
        panic!("{sql} should fail with {sqlstate}, and succeeded");
    };
    let Some(refusal) = Refusal::of(&error) else {
        panic!("{sql} should fail with {sqlstate}, but the connection broke: {error}");
    };
    assert_eq!(
        refusal.sqlstate, sqlstate,
        "{sql} should fail with {sqlstate}, and said: {refusal:?}"
    );
    refusal
}
