//! Ids as text: 13 characters of Crockford's base 32, which sort like the number.

/// How long the text form is.
pub const TEXT_LENGTH: usize = 13;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Not 13 characters.
    #[error("an id as text has {TEXT_LENGTH} characters, not {0}")]
    Length(usize),
    /// A character that is not of the alphabet.
    #[error("not Crockford base 32")]
    Alphabet,
    /// More than 63 bits.
    #[error("larger than the largest id")]
    TooLarge,
}

/// The text form of an id; the id is not negative.
pub fn encode_text(id: u64) -> String {
    format!("{:0>TEXT_LENGTH$}", crockford::encode(id))
}

/// The id of a text; lower case is accepted, and `I`, `L`, `O` for 1, 1, 0.
pub fn decode_text(text: &str) -> Result<i64, TextError> {
    let length = text.chars().count();
    if length != TEXT_LENGTH {
        return Err(TextError::Length(length));
    }
    // 13 characters hold 65 bits: the first may only use its low three.
    let significant = text.trim_start_matches(['0', 'o', 'O']);
    if significant.is_empty() {
        return Ok(0);
    }
    if significant.len() == TEXT_LENGTH
        && !significant.starts_with(['1', '2', '3', '4', '5', '6', '7', 'i', 'I', 'l', 'L'])
    {
        let known = |c: char| c.is_ascii_alphanumeric() && !matches!(c, 'u' | 'U');
        return Err(if text.chars().all(known) {
            TextError::TooLarge
        } else {
            TextError::Alphabet
        });
    }
    let number = crockford::decode(significant).map_err(|_| TextError::Alphabet)?;
    i64::try_from(number).map_err(|_| TextError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_comes_back_and_sorts_like_the_number(a in 0i64.., b in 0i64..) {
            let (x, y) = (encode_text(a as u64), encode_text(b as u64));
            prop_assert_eq!(x.len(), TEXT_LENGTH);
            prop_assert_eq!(decode_text(&x), Ok(a));
            prop_assert_eq!(decode_text(&x.to_lowercase()), Ok(a));
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,15}") {
            let _ = decode_text(&text);
        }
    }

    #[test]
    fn both_ends_and_just_beyond() {
        assert_eq!(encode_text(0), "0000000000000");
        assert_eq!(encode_text(i64::MAX as u64), "7ZZZZZZZZZZZZ");
        assert_eq!(decode_text("7ZZZZZZZZZZZZ"), Ok(i64::MAX));
        assert_eq!(decode_text("8000000000000"), Err(TextError::TooLarge));
        assert_eq!(decode_text("ZZZZZZZZZZZZZ"), Err(TextError::TooLarge));
        assert_eq!(decode_text("000000000000"), Err(TextError::Length(12)));
        assert_eq!(decode_text("000000000000U"), Err(TextError::Alphabet));
        assert_eq!(decode_text("8------------"), Err(TextError::Alphabet));
        assert_eq!(decode_text("OOOOOOOOOOOIL"), Ok(33));
    }
}
