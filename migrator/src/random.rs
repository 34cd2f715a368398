//! Random numbers, all of them from the operating system.

use rand::distr::{Alphanumeric, SampleString};
use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};

use crate::failure::Failure;

/// So many bytes that nobody can guess.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    OsRng.try_fill_bytes(&mut bytes).map_err(|error| {
        Failure::new(format!("the operating system has no random numbers: {error}"))
    })?;
    Ok(bytes)
}

/// So many letters and digits, 43 of which are as good as 256 bits.
pub(crate) fn text(length: usize) -> Result<String, Failure> {
    Ok(Alphanumeric.sample_string(&mut StdRng::from_seed(bytes()?), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_letters_and_digits_and_another_each_time() {
        let (one, other) = (text(24).unwrap(), text(24).unwrap());
        assert!(one.len() == 24 && one.chars().all(|c| c.is_ascii_alphanumeric()), "{one}");
        assert_ne!(one, other);
    }
}
