//! Names that were checked once: of clusters, nodes, layouts and tickets.

use std::fmt;

/// The longest name, in characters: what fits a PostgreSQL identifier.
const LENGTH_MAX: usize = 63;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is nothing.
    #[error("a name cannot be empty")]
    Empty,
    /// More than 63 characters.
    #[error("a name has at most {LENGTH_MAX} characters, not {0}")]
    TooLong(usize),
    /// A character that would need quoting somewhere.
    #[error("a name has letters, digits, `_`, `-` and `.`, and begins with a letter or digit")]
    Character,
}

/// Checks what all names have in common: they need no quoting in TOML keys,
/// in CSV, in a shell or on a terminal.
fn check(text: &str) -> Result<String, NameError> {
    let length = text.chars().count();
    let Some(first) = text.chars().next() else { return Err(NameError::Empty) };
    if length > LENGTH_MAX {
        return Err(NameError::TooLong(length));
    }
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !first.is_ascii_alphanumeric() || !text.chars().all(known) {
        return Err(NameError::Character);
    }
    Ok(text.to_owned())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// Checks and makes a name.
            pub fn new(text: &str) -> Result<Self, NameError> {
                check(text).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl std::str::FromStr for $type {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
    };
}

name! {
    /// The name of a cluster.
    ClusterName
}
name! {
    /// The name of a node, as the cluster file and the map use it.
    NodeName
}
name! {
    /// The name of a layout, built in or made with `create_layout`.
    LayoutName
}
name! {
    /// The name of a ticket, the same on all servers that hand it out.
    TicketName
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_need_no_quoting_are_taken_and_no_others() {
        for good in ["pg1", "pg-b", "PG_1", "10.0.0.11", &"a".repeat(63)] {
            assert_eq!(NodeName::new(good).unwrap().as_str(), good);
        }
        assert_eq!(NodeName::new(""), Err(NameError::Empty));
        assert_eq!(NodeName::new(&"a".repeat(64)), Err(NameError::TooLong(64)));
        for bad in ["-pg1", ".pg1", "_pg", "pg 1", "pg,1", "pg\n", "pg'", "pgß", "\u{1b}[0m"] {
            assert_eq!(NodeName::new(bad), Err(NameError::Character), "{bad:?}");
        }
    }
}
