//! Do two texts of a definition say the same? PostgreSQL keeps an expression as it has understood it, and what it
//! prints of that it may understand in another form, which it prints otherwise: of `a IN ('x', 'y')`, where `a` is a
//! `varchar`, first `(ARRAY['x'::character varying, …])::text[]`, and of that `ARRAY[('x'::character varying)::text, …]`.
//!
//! So a copy that was made from one text may have the other. Both have the same names, strings and signs in the same
//! order; they differ by casts and parentheses, by the sign of a number, and by the name of a column that nobody has
//! named. Whether both call the same functions is looked at by itself, before what is made is committed.

/// A name, a string or a sign of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Word<'a> {
    text: &'a str,
    /// Whether it is an `AS` before the name of a column that has a name of itself: `'x'::text AS text`.
    names_cast: bool,
}

/// Whether the texts differ by nothing but how PostgreSQL prints what it has read from one of them.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    let (mut one, mut other) = (one.as_slice(), other.as_slice());
    loop {
        match (one, other) {
            ([], []) => return true,
            ([a, more @ ..], [b, more_of_other @ ..])
                if a == b || a.text == b.text && text_of(more) == text_of(more_of_other) =>
            {
                (one, other) = (more, more_of_other);
            }
            // What nobody has named is named after the type of its cast once it was read again.
            ([a, _, more @ ..], _) if a.names_cast => one = more,
            (_, [b, _, more @ ..]) if b.names_cast => other = more,
            _ => return false,
        }
    }
}

/// What comes first.
fn text_of<'a>(words: &[Word<'a>]) -> Option<&'a str> {
    words.first().map(|word| word.text)
}

/// The words of a text without casts and parentheses.
fn words(text: &str) -> Vec<Word<'_>> {
    let tokens = tokens(text);
    let mut words: Vec<Word> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    let mut is_behind_cast = false;
    while let [token, more @ ..] = rest {
        rest = more;
        match *token {
            "(" => continue,
            // A column that is a query has the name of that query's column.
            ")" => {
                is_behind_cast = match (words.as_slice(), more) {
                    ([.., named, name], ["AS", same, ..]) => named.names_cast && name.text == *same,
                    _ => false,
                };
            }
            "::" => {
                rest = behind_type(rest);
                with_sign(&mut words);
                is_behind_cast = true;
            }
            text => {
                words.push(Word { text, names_cast: is_behind_cast && text == "AS" });
                is_behind_cast = false;
            }
        }
    }
    words
}

/// A negative number is printed as `'-1'::integer`, and the same number as `- 1` where that was cast to its own type.
fn with_sign(words: &mut Vec<Word<'_>>) {
    let Some(&Word { text, .. }) = words.last() else { return };
    let number = text.strip_prefix("'-").and_then(|text| text.strip_suffix('\''));
    let Some(number) = number.filter(|number| number.parse::<f64>().is_ok()) else { return };
    words.pop();
    let word = |text| Word { text, names_cast: false };
    words.push(word("-"));
    words.extend(tokens(number).into_iter().map(word));
}

/// What follows the name of a type: `pg_catalog.int4`, `character varying(5)[]`, `timestamp(3) with time zone`,
/// `interval day to second`.
fn behind_type<'a, 'b>(tokens: &'a [&'b str]) -> &'a [&'b str] {
    let [first, rest @ ..] = tokens else { return tokens };
    let mut rest = rest;
    while let [".", _, more @ ..] = rest {
        rest = more;
    }
    rest = behind_parentheses(rest);
    let more: &[&str] = match *first {
        "character" | "bit" => &["varying"],
        "double" => &["precision"],
        "time" | "timestamp" => &["with", "without", "time", "zone"],
        "interval" => &["year", "month", "day", "hour", "minute", "second", "to"],
        _ => &[],
    };
    while let [word, behind @ ..] = rest
        && more.contains(word)
    {
        rest = behind;
    }
    rest = behind_parentheses(rest);
    while let ["[", "]", more @ ..] = rest {
        rest = more;
    }
    rest
}

fn behind_parentheses<'a, 'b>(tokens: &'a [&'b str]) -> &'a [&'b str] {
    match tokens {
        ["(", inner @ ..] => {
            let end = inner.iter().position(|token| *token == ")");
            end.map_or(tokens, |at| &inner[at + 1..])
        }
        _ => tokens,
    }
}

/// The names, strings, numbers and signs of a text of SQL: `::` is one, a string is one with its quotes.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let length = token_length(rest);
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// The length of what a text begins with.
fn token_length(text: &str) -> usize {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let first = text.chars().next().unwrap_or_default();
    let name = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    match first {
        '\'' | '"' => quoted_length(text, first, false),
        'E' | 'e' if text[1..].starts_with('\'') => 1 + quoted_length(&text[1..], '\'', true),
        '$' => {
            let tag = text[1..].find('$').map(|at| &text[..at + 2]);
            let tag = tag.filter(|tag| tag[1..tag.len() - 1].chars().all(is_of_name));
            let end = tag.and_then(|tag| Some(text[tag.len()..].find(tag)? + 2 * tag.len()));
            end.unwrap_or_else(|| name.max(1))
        }
        ':' if text.starts_with("::") => 2,
        _ if is_of_name(first) => name,
        _ => first.len_utf8(),
    }
}

/// The length of a string or a quoted name; a quote that stands twice is a part of it.
fn quoted_length(text: &str, quote: char, escapes: bool) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' && escapes {
            characters.next();
        } else if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{is_same, tokens};

    /// What PostgreSQL prints, what it prints of what it has read from that, and what says something else.
    #[test]
    fn what_was_read_from_a_text_is_the_same_and_what_says_something_else_is_not() {
        for (printed, again, others) in [
            (
                "CHECK (((a)::text = ANY ((ARRAY['x'::character varying, 'y'::character varying])::text[])))",
                "CHECK (((a)::text = ANY (ARRAY[('x'::character varying)::text, ('y'::character varying)::text])))",
                vec![
                    "CHECK (((a)::text = ANY (ARRAY[('x'::character varying)::text, ('z'::character varying)::text])))",
                    "CHECK (((a)::text = ANY (ARRAY[('x'::character varying)::text])))",
                    "CHECK (((a)::text <> ALL (ARRAY[('x'::character varying)::text, ('y'::character varying)::text])))",
                    "CHECK (((b)::text = ANY (ARRAY[('x'::character varying)::text, ('y'::character varying)::text])))",
                ],
            ),
            (
                "CHECK ((((n >= '-1'::integer) AND (n <= 10)) AND (i <> '-1'::integer)))",
                "CHECK (((n >= (- 1)) AND (n <= 10) AND (i <> '-1'::integer)))",
                vec![
                    "CHECK (((n >= 1) AND (n <= 10) AND (i <> '-1'::integer)))",
                    "CHECK (((n >= '-10'::integer) AND (n <= 10) AND (i <> '-1'::integer)))",
                    "CHECK (((n >= '-1'::integer) OR (n <= 10) AND (i <> '-1'::integer)))",
                ],
            ),
            (
                "WHERE (EXISTS ( SELECT NULL::text FROM s.u)) AND a",
                "WHERE ((EXISTS ( SELECT NULL::text AS text FROM s.u)) AND a)",
                vec![
                    "WHERE ((EXISTS ( SELECT NULL::text AS text FROM s.v)) AND a)",
                    "WHERE ((EXISTS ( SELECT NULL::text AS text, 1 FROM s.u)) AND a)",
                ],
            ),
            (
                "SELECT ( SELECT 'y'::text), ( SELECT 'z'::text) AS three, 'x'::text AS four",
                "SELECT ( SELECT 'y'::text AS text) AS text, ( SELECT 'z'::text AS text) AS three, 'x'::text AS four",
                vec![
                    "SELECT ( SELECT 'y'::text AS text) AS text, ( SELECT 'z'::text AS text) AS four, 'x'::text AS four",
                    "SELECT ( SELECT 'y'::text AS text) AS text, ( SELECT 'z'::text AS text) AS three, 'x'::text AS five",
                    "SELECT ( SELECT 'y'::text AS text) AS one, ( SELECT 'z'::text AS text) AS three, 'x'::text AS four",
                ],
            ),
            (
                "SELECT a::timestamp(3) with time zone[], b::interval day to second, c::s.\"T x\"(1,2) AS d",
                "SELECT (a), b, (c) AS d",
                vec!["SELECT (a), b, (c) AS e", "SELECT (a), b, d", "SELECT a, b with, c AS d"],
            ),
        ] {
            assert!(is_same(printed, again) && is_same(again, printed), "{printed}");
            assert!(is_same(printed, printed), "{printed}");
            for other in others {
                assert!(!is_same(printed, other), "{other}");
                assert!(!is_same(other, printed), "{other}, the other way");
            }
        }
    }

    /// Nothing within a string, a quoted name or a body is left out.
    #[test]
    fn a_string_and_a_body_are_the_same_to_the_letter() {
        for (one, other) in [
            ("SELECT '(a)::text'", "SELECT 'a'"),
            ("SELECT 'a  b'", "SELECT 'a b'"),
            ("SELECT 'it''s (a)'", "SELECT 'it''s a'"),
            ("SELECT E'\\' (a)'", "SELECT E'\\' a'"),
            ("SELECT \"(a)\"", "SELECT \"a\""),
            ("AS $$ SELECT (a)::text $$;", "AS $$ SELECT a $$;"),
            ("AS $_$ SELECT '$$', (a) $_$;", "AS $_$ SELECT '$$', a $_$;"),
            ("SELECT a AS b", "SELECT a"),
        ] {
            assert!(!is_same(one, other), "{one}");
            assert!(is_same(one, one), "{one}");
        }
        let text = "a$b$ 'it''s' E'\\'x' $1 \"q\"\"\"::é[] $é$ $e$ $é$";
        let of_it =
            ["a$b$", "'it''s'", "E'\\'x'", "$1", "\"q\"\"\"", "::", "é", "[", "]", "$é$ $e$ $é$"];
        assert_eq!(tokens(text), of_it);
        for unfinished in ["'a", "\"a", "$a$ b", "E'\\", "$", "$a", "::", "x::", "x::numeric(1"] {
            assert!(is_same(unfinished, unfinished), "{unfinished}");
        }
    }
}
