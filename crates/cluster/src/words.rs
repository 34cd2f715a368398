//! Enumerations whose values are words in the catalog: written once, read back or refused.

/// A word that is none of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not {what}")]
pub struct UnknownWord {
    /// What was read.
    pub word: String,
    /// What it should have been one of.
    pub what: &'static str,
}

/// An enumeration, each value with its word: `ALL`, `as_str`, `Display` and `FromStr`.
macro_rules! words {
    ($what:literal: $(#[$about:meta])* pub enum $name:ident {
        $($(#[$of:meta])* $value:ident = $word:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$of])* $value,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// The word for it, in the catalog and everywhere else.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let unknown = || $crate::words::UnknownWord { word: word.to_owned(), what: $what };
                Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or_else(unknown)
            }
        }
    };
}

pub(crate) use words;
