//! Concealed ids: a keyed one-to-one scrambling of the positive 64-bit integers.
//!
//! Outsiders who see ids can count orders and read their times; concealed ids
//! tell them nothing, yet need no second column. The construction is a Feistel
//! network of ten rounds on two 32-bit halves (Luby and Rackoff), repeated
//! until the result is positive (cycle walking, Black and Rogaway), so that it
//! is a permutation of 0 … 2^63-1. The round function is made of SHA-256 alone,
//! because every database has it: round `r` (one byte) of half `h` (four bytes,
//! big-endian) gives the first four bytes of `SHA-256(SHA-256(key) ‖ r ‖ h)`.

use sha2::{Digest, Sha256};

/// The shortest key.
pub const KEY_BYTES_MIN: usize = 16;

const ROUNDS: u8 = 10;

/// A key for [`ConcealKey::conceal`].
pub struct ConcealKey([u8; 32]);

/// Why a key or a number is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConcealError {
    /// The key is too short to be one.
    #[error("a key has at least {KEY_BYTES_MIN} bytes, not {0}")]
    ShortKey(usize),
    /// Only numbers from 0 on are scrambled.
    #[error("{0} is negative")]
    Negative(i64),
}

impl ConcealKey {
    /// Takes a key of at least [`KEY_BYTES_MIN`] bytes.
    pub fn new(key: &[u8]) -> Result<Self, ConcealError> {
        if key.len() < KEY_BYTES_MIN {
            return Err(ConcealError::ShortKey(key.len()));
        }
        Ok(Self(Sha256::digest(key).into()))
    }

    /// The concealed form of an id, again 0 … 2^63-1.
    pub fn conceal(&self, id: i64) -> Result<i64, ConcealError> {
        walk(id, |block| (0..ROUNDS).fold(block, |b, round| self.round(b, round)))
    }

    /// The id that was concealed.
    pub fn reveal(&self, concealed: i64) -> Result<i64, ConcealError> {
        // The network run backwards: swap the halves, the rounds in reverse, swap again.
        walk(concealed, |block| {
            (0..ROUNDS).rev().fold(block.rotate_left(32), |b, r| self.round(b, r)).rotate_left(32)
        })
    }

    fn round(&self, block: u64, round: u8) -> u64 {
        let (left, right) = ((block >> 32) as u32, block as u32);
        let digest = Sha256::new()
            .chain_update(self.0)
            .chain_update([round])
            .chain_update(right.to_be_bytes())
            .finalize();
        let mix = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        (u64::from(right) << 32) | u64::from(left ^ mix)
    }
}

/// Applies a permutation of 64 bits until the result is positive.
fn walk(number: i64, permute: impl Fn(u64) -> u64) -> Result<i64, ConcealError> {
    let mut block = u64::try_from(number).map_err(|_| ConcealError::Negative(number))?;
    loop {
        block = permute(block);
        if let Ok(positive) = i64::try_from(block) {
            return Ok(positive);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_concealed_is_revealed(id in 0i64.., key in prop::collection::vec(any::<u8>(), 16..40)) {
            let key = ConcealKey::new(&key).unwrap();
            let concealed = key.conceal(id).unwrap();
            prop_assert!(concealed >= 0);
            prop_assert_eq!(key.reveal(concealed), Ok(id));
            prop_assert_eq!(key.conceal(key.reveal(id).unwrap()), Ok(id));
        }
    }

    #[test]
    fn neighbours_share_nothing_and_none_collide() {
        let key = ConcealKey::new(b"0123456789abcdef").unwrap();
        let mut seen: Vec<i64> = (0..20_000).map(|id| key.conceal(id).unwrap()).collect();
        let ones: u32 = seen.windows(2).map(|w| (w[0] ^ w[1]).count_ones()).sum();
        let mean = f64::from(ones) / 19_999.0;
        assert!((31.0..32.0).contains(&mean), "half of 63 bits should differ, not {mean}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 20_000);
    }

    #[test]
    fn bad_input_is_named() {
        assert_eq!(ConcealKey::new(&[0; 15]).err(), Some(ConcealError::ShortKey(15)));
        let key = ConcealKey::new(&[0; 16]).unwrap();
        assert_eq!(key.conceal(-1), Err(ConcealError::Negative(-1)));
        assert_eq!(key.reveal(i64::MIN), Err(ConcealError::Negative(i64::MIN)));
    }
}
