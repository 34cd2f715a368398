//! Secrets that nobody types, and what a server keeps of one.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::random;

/// How often a verifier is hashed, as PostgreSQL does it.
const ITERATIONS: u32 = 4096;

/// A password that a program made. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// 256 bits from the operating system.
    pub(crate) fn random() -> Result<Self, Failure> {
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(random::bytes::<32>()?)))
    }

    /// One that is in use already.
    pub(crate) fn known(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for a connection string.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// What a server can check the secret by (RFC 5803), and nobody can log in with.
    pub(crate) fn verifier(&self) -> Result<String, Failure> {
        Ok(self.verifier_with(ITERATIONS, &random::bytes::<16>()?))
    }

    fn verifier_with(&self, iterations: u32, salt: &[u8]) -> String {
        let mut salted = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(self.0.as_bytes(), salt, iterations, &mut salted);
        let key = |name: &[u8]| {
            let mut mac = Hmac::<Sha256>::new_from_slice(&salted).expect("a key of any length");
            mac.update(name);
            mac.finalize().into_bytes()
        };
        let stored = Sha256::digest(key(b"Client Key"));
        format!(
            "SCRAM-SHA-256${iterations}:{}${}:{}",
            BASE64_STANDARD.encode(salt),
            BASE64_STANDARD.encode(stored),
            BASE64_STANDARD.encode(key(b"Server Key"))
        )
    }

    /// Whether a server that keeps this verifier lets in who has the secret.
    pub(crate) fn opens(&self, verifier: &str) -> bool {
        let Some(rest) = verifier.strip_prefix("SCRAM-SHA-256$") else { return false };
        let Some((iterations, rest)) = rest.split_once(':') else { return false };
        let Some((salt, _)) = rest.split_once('$') else { return false };
        let (Ok(iterations), Ok(salt)) = (iterations.parse(), BASE64_STANDARD.decode(salt)) else {
            return false;
        };
        self.verifier_with(iterations, &salt) == verifier
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_opened_by_its_own_secret_alone() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert_eq!(one.reveal().len(), 43);
        let verifier = one.verifier().unwrap();
        assert!(one.opens(&verifier) && !other.opens(&verifier));
        assert_ne!(verifier, one.verifier().unwrap(), "each has a salt of its own");
        for odd in ["", "md5abc", "SCRAM-SHA-256$", "SCRAM-SHA-256$x:y$z:z"] {
            assert!(!one.opens(odd), "{odd}");
        }
        assert_eq!(format!("{one:?}"), "a secret");
    }

    /// What PostgreSQL 15 made of `CREATE ROLE … PASSWORD 'pencil'`.
    #[test]
    fn a_verifier_is_the_one_that_postgresql_makes() {
        let verifier = "SCRAM-SHA-256$4096:Rrv/DRyjfYloEFRPbsO+/A==$9rWLRSlyjGG4pBRaO/Lzefa5V4INc7pMVlAupVE3/4c=:gW1Rhga0asw8Yr56Tz1r5tA3NyIsCdmW+cd80OPXwgo=";
        assert!(Secret::known("pencil".into()).opens(verifier));
    }
}
