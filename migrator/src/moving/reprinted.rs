//! Do two texts of a definition say the same? PostgreSQL keeps an expression as it has understood it, and what it
//! prints of that it may understand in another form, which it prints otherwise: of `a IN ('x', 'y')`, where `a` is a
//! `varchar`, first `(ARRAY['x'::character varying, …])::text[]`, and of that `ARRAY[('x'::character varying)::text, …]`.
//! So a copy that was made from one text may have the other.
//!
//! Both are brought to the form that it prints once it has read what it has printed, by the rules of its parser:
//!
//! - a cast of an array is one of each of its elements (`transformArrayExpr`);
//! - of `(a AND b) AND c` there is one AND (`makeAndExpr`), and so of OR;
//! - a minus before a number is a part of that (`doNegate`);
//! - a column that is a cast and has no name has that of the type (`FigureColname`).
//!
//! All else is the same to the letter. An expression which is printed otherwise for another reason is taken for one
//! that differs, and the move says so. The tests have the server print what it can have in expressions.

use std::borrow::Cow;

/// A text of SQL by its parentheses and brackets.
#[derive(Clone, PartialEq, Debug)]
enum Node<'a> {
    Word(Cow<'a, str>),
    /// What is between a pair of them, and with which it begins.
    Group(char, Vec<Node<'a>>),
}

/// A name, a string or a sign of a text.
#[derive(PartialEq, Debug)]
struct Word<'a> {
    text: Cow<'a, str>,
    /// Whether it is an `AS` before the name of a column that has a name of itself: `'x'::text AS text`.
    names_cast: bool,
}

/// Whether the texts are the same once PostgreSQL has read and printed each.
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
            ([a, _, more @ ..], _) if a.names_cast => one = more,
            (_, [b, _, more @ ..]) if b.names_cast => other = more,
            _ => return false,
        }
    }
}

/// What comes first.
fn text_of<'w>(words: &'w [Word]) -> Option<&'w str> {
    words.first().map(|word| word.text.as_ref())
}

/// The words of a text in the form that is printed of it.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    add_words(printed(tree(text)), &mut words);
    words
}

/// Takes a text apart. What is not closed, or not opened, is a word.
fn tree(text: &str) -> Vec<Node<'_>> {
    let mut open: Vec<(char, Vec<Node>)> = Vec::new();
    let mut nodes = Vec::new();
    for token in tokens(text) {
        match (token, open.last().map(|(with, _)| *with)) {
            ("(", _) => open.push(('(', std::mem::take(&mut nodes))),
            ("[", _) => open.push(('[', std::mem::take(&mut nodes))),
            (")", Some('(')) | ("]", Some('[')) => {
                let (with, before) = open.pop().expect("there is a last one");
                let inner = std::mem::replace(&mut nodes, before);
                nodes.push(Node::Group(with, inner));
            }
            _ => nodes.push(Node::Word(token.into())),
        }
    }
    while let Some((with, mut before)) = open.pop() {
        before.push(Node::Word(with.to_string().into()));
        before.append(&mut nodes);
        nodes = before;
    }
    nodes
}

/// What is printed of some nodes once they were read.
fn printed(nodes: Vec<Node<'_>>) -> Vec<Node<'_>> {
    let mut out = Vec::with_capacity(nodes.len());
    let mut rest = nodes.into_iter().peekable();
    while let Some(node) = rest.next() {
        match node {
            Node::Group('(', inner) => {
                let inner = flat(printed(inner));
                let is_cast = rest.peek().is_some_and(|next| is_word(next, "::"));
                match (negative(&inner), array(&inner)) {
                    (Some(number), _) => out.extend(number),
                    (_, Some(elements)) if is_cast => {
                        cast_array(elements, Parentheses::All, &mut rest, &mut out);
                    }
                    _ => out.push(Node::Group('(', inner)),
                }
            }
            Node::Group(_, inner) => {
                let inner = printed(inner);
                let is_array = out.last().is_some_and(|last| is_word(last, "ARRAY"));
                if is_array && rest.peek().is_some_and(|next| is_word(next, "::")) {
                    out.pop();
                    cast_array(&inner, Parentheses::Needed, &mut rest, &mut out);
                } else {
                    out.push(Node::Group('[', inner));
                }
            }
            word @ Node::Word(_) => out.push(word),
        }
    }
    out
}

/// Which parentheses are printed: those of statistics are those that are needed.
#[derive(Clone, Copy, PartialEq)]
enum Parentheses {
    All,
    Needed,
}

/// Adds an array that is cast to the type that comes next: each of its elements is, if that is one of arrays.
fn cast_array<'a>(
    elements: &[Node<'a>],
    printed: Parentheses,
    rest: &mut std::iter::Peekable<impl Iterator<Item = Node<'a>>>,
    out: &mut Vec<Node<'a>>,
) {
    rest.next();
    let mut of = type_of(rest);
    let array = |elements| [Node::Word("ARRAY".into()), Node::Group('[', elements)];
    if of.last() == Some(&Node::Group('[', Vec::new())) {
        of.pop();
        out.extend(array(cast_each(elements, &of, printed)));
        return;
    }
    match printed {
        Parentheses::All => out.push(Node::Group('(', array(elements.to_vec()).into())),
        Parentheses::Needed => out.extend(array(elements.to_vec())),
    }
    out.push(Node::Word("::".into()));
    out.extend(of);
}

fn is_word(node: &Node, text: &str) -> bool {
    matches!(node, Node::Word(word) if word == text)
}

/// `(a AND b) AND c` as `a AND b AND c`, and so of OR.
fn flat(nodes: Vec<Node<'_>>) -> Vec<Node<'_>> {
    let Some(operator) = operator(&nodes) else { return nodes };
    let mut out = Vec::with_capacity(nodes.len());
    let mut operand = Vec::new();
    for node in nodes {
        if is_word(&node, operator) {
            end_operand(&mut operand, operator, &mut out);
            out.push(node);
        } else {
            operand.push(node);
        }
    }
    end_operand(&mut operand, operator, &mut out);
    out
}

/// Adds an operand, or its own ones where it is of the same operator.
fn end_operand<'a>(operand: &mut Vec<Node<'a>>, of: &str, out: &mut Vec<Node<'a>>) {
    match operand.as_mut_slice() {
        [Node::Group('(', inner)] if operator(inner) == Some(of) => {
            out.append(inner);
            operand.clear();
        }
        _ => out.append(operand),
    }
}

/// Which of AND and OR stands between some nodes, if it is one of them alone.
fn operator(nodes: &[Node]) -> Option<&'static str> {
    let has = |operator| nodes.iter().any(|node| is_word(node, operator));
    match (has("AND"), has("OR")) {
        (true, false) => Some("AND"),
        (false, true) => Some("OR"),
        _ => None,
    }
}

/// `- 1` as `'-1'::integer`.
fn negative<'a>(nodes: &[Node<'a>]) -> Option<[Node<'a>; 3]> {
    let [sign, digits @ ..] = nodes else { return None };
    let digits: Option<String> = digits
        .iter()
        .map(|node| match node {
            Node::Word(word) => Some(word.as_ref()),
            Node::Group(..) => None,
        })
        .collect();
    let digits = digits.filter(|_| is_word(sign, "-"))?;
    let number = format!("-{digits}");
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    number.parse::<f64>().ok().filter(|_| is_number)?;
    let of = match number.parse::<i128>() {
        // A number is read before its sign.
        Ok(whole) if i32::try_from(-whole).is_ok() => "integer",
        Ok(whole) if i64::try_from(-whole).is_ok() => "bigint",
        _ => "numeric",
    };
    Some([Node::Word(format!("'{number}'").into()), Node::Word("::".into()), Node::Word(of.into())])
}

/// The elements of `ARRAY[…]`, if that is all there is.
fn array<'n, 'a>(nodes: &'n [Node<'a>]) -> Option<&'n [Node<'a>]> {
    match nodes {
        [word, Node::Group('[', elements)] if is_word(word, "ARRAY") => Some(elements),
        _ => None,
    }
}

/// Elements, each cast to a type; those of an array of arrays within these.
fn cast_each<'a>(elements: &[Node<'a>], of: &[Node<'a>], printed: Parentheses) -> Vec<Node<'a>> {
    let mut out = Vec::new();
    for (n, element) in elements.split(|node| is_word(node, ",")).enumerate() {
        if n > 0 {
            out.push(Node::Word(",".into()));
        }
        let is_of_type = element.ends_with(of)
            && element.len() > of.len()
            && is_word(&element[element.len() - of.len() - 1], "::");
        match array(element) {
            Some(inner) => {
                out.push(Node::Word("ARRAY".into()));
                out.push(Node::Group('[', cast_each(inner, of, printed)));
            }
            None if is_of_type => out.extend_from_slice(element),
            None => {
                let is_plain = |node: &Node| match node {
                    Node::Word(word) => {
                        word == "::"
                            || word.starts_with(|c: char| is_of_name(c) || "'\".".contains(c))
                    }
                    Node::Group(..) => true,
                };
                match element {
                    [Node::Group('(', _)] => out.extend_from_slice(element),
                    _ if printed == Parentheses::Needed && element.iter().all(is_plain) => {
                        out.extend_from_slice(element);
                    }
                    _ => out.push(Node::Group('(', element.to_vec())),
                }
                out.push(Node::Word("::".into()));
                out.extend_from_slice(of);
            }
        }
    }
    out
}

/// The name of a type: `pg_catalog.int4`, `character varying(5)[]`, `timestamp(3) with time zone`,
/// `interval day to second`.
fn type_of<'a>(nodes: &mut std::iter::Peekable<impl Iterator<Item = Node<'a>>>) -> Vec<Node<'a>> {
    let mut of: Vec<Node> = nodes.next().into_iter().collect();
    let more: &[&str] = match of.first() {
        Some(Node::Word(first)) => match first.as_ref() {
            "character" | "bit" => &["varying"],
            "double" => &["precision"],
            "time" | "timestamp" => &["with", "without", "time", "zone"],
            "interval" => &["year", "month", "day", "hour", "minute", "second", "to"],
            _ => &[],
        },
        _ => &[],
    };
    while let Some(next) = nodes.peek() {
        let is_behind_dot = of.last().is_some_and(|last| is_word(last, "."));
        let is_of_type = match next {
            Node::Word(word) => word == "." || is_behind_dot || more.contains(&word.as_ref()),
            Node::Group('(', _) => true,
            Node::Group(_, inner) => inner.is_empty(),
        };
        if !is_of_type {
            break;
        }
        of.extend(nodes.next());
    }
    of
}

/// Adds the words of some nodes, and says of each `AS` whether it names what has a name of itself.
fn add_words<'a>(nodes: Vec<Node<'a>>, words: &mut Vec<Word<'a>>) {
    let mut rest = nodes.into_iter().peekable();
    // The name of the column that comes before, if it has one of itself: any for a cast.
    let mut name: Option<Option<String>> = None;
    while let Some(node) = rest.next() {
        match node {
            Node::Word(text) if text == "::" => {
                words.push(Word { text, names_cast: false });
                add_words(type_of(&mut rest), words);
                name = Some(None);
            }
            Node::Word(text) => {
                let names_cast = text == "AS"
                    && match (&name, rest.peek()) {
                        (Some(Some(name)), Some(next)) => is_word(next, name),
                        (name, _) => name.is_some(),
                    };
                words.push(Word { text, names_cast });
                name = None;
            }
            Node::Group(with, inner) => {
                let ends = if with == '(' { ["(", ")"] } else { ["[", "]"] };
                words.push(Word { text: ends[0].into(), names_cast: false });
                let before = words.len();
                add_words(inner, words);
                // A column that is a query has the name of that query's column.
                let of_query = words[before..].iter().skip_while(|word| !word.names_cast).nth(1);
                name = of_query.map(|word| Some(word.text.to_string()));
                words.push(Word { text: ends[1].into(), names_cast: false });
            }
        }
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

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The length of what a text begins with.
fn token_length(text: &str) -> usize {
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
                "WHERE ((EXISTS ( SELECT NULL::text FROM s.u)) AND a)",
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
                "CHECK ((b = ANY ((ARRAY[(a)::text, 'y'::text])::character varying(5)[])) OR (x.b OR c))",
                "CHECK ((b = ANY (ARRAY[((a)::text)::character varying(5), ('y'::text)::character varying(5)])) OR x.b OR c)",
                vec![
                    "CHECK ((b = ANY ((ARRAY[(a)::text, 'y'::text])::character varying(6)[])) OR x.b OR c)",
                    "CHECK ((b = ANY ((ARRAY[a, 'y'::text])::character varying(5)[])) OR x.b OR c)",
                    "CHECK ((b = ANY ((ARRAY[(a)::text, 'y'::text])::character varying(5)[])) OR (x.b AND c))",
                ],
            ),
            (
                "ON n, (a::text = ANY (ARRAY['x'::character varying, b || 'y']::text[])), (ARRAY[1]::d) FROM s.t",
                "ON n, (a::text = ANY (ARRAY['x'::character varying::text, (b || 'y')::text])), (ARRAY[1]::d) FROM s.t",
                vec![
                    "ON n, (a::text = ANY (ARRAY['x'::character varying, b || 'y'])), (ARRAY[1]::d) FROM s.t",
                ],
            ),
            (
                "CHECK ((n > (- 1.5)) AND (n > (- 3000000000)) AND (n <> (- (2))))",
                "CHECK ((n > '-1.5'::numeric) AND (n > '-3000000000'::bigint) AND (n <> (- (2))))",
                vec![
                    "CHECK ((n > '-1.5'::numeric) AND (n > '-3000000000'::numeric) AND (n <> (- (2))))",
                    "CHECK ((n > 1.5) AND (n > '-3000000000'::bigint) AND (n <> (- (2))))",
                ],
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

    /// Nothing within a string, a quoted name or a body is read.
    #[test]
    fn what_is_no_form_of_an_expression_is_the_same_to_the_letter() {
        for (one, other) in [
            ("SELECT '(a)::text'", "SELECT 'a'"),
            ("SELECT 'a  b'", "SELECT 'a b'"),
            ("SELECT 'it''s (a)'", "SELECT 'it''s a'"),
            ("SELECT E'\\' (a)'", "SELECT E'\\' a'"),
            ("SELECT \"(a)\"", "SELECT \"a\""),
            ("AS $$ SELECT (a)::text $$;", "AS $$ SELECT a $$;"),
            ("AS $_$ SELECT '$$', (a) $_$;", "AS $_$ SELECT '$$', a $_$;"),
            ("SELECT a AS b", "SELECT a"),
            // A cast, and what stands in parentheses, is a part of what it says.
            ("CHECK (((a AND b) OR c))", "CHECK ((a AND (b OR c)))"),
            ("CHECK ((i - (j - k)) > 0)", "CHECK (((i - j) - k) > 0)"),
            ("CHECK ((NOT a) = b)", "CHECK (NOT (a = b))"),
            ("CHECK ((a)::character varying(1) = b)", "CHECK ((a)::character varying(3) = b)"),
            ("CHECK ((a)::numeric(5,2) = b)", "CHECK ((a)::numeric(5,0) = b)"),
            ("CHECK ((now())::date = b)", "CHECK (now() = b)"),
            ("CHECK ((js -> '-1'::text) = b)", "CHECK ((js -> '-1'::integer) = b)"),
            ("CHECK ((js -> '-1'::text) = b)", "CHECK ((js -> (- 1)) = b)"),
            ("SELECT (a)::bigint AS b", "SELECT (a)::integer AS b"),
            (
                "SELECT 1 UNION (SELECT 2 UNION ALL SELECT 3)",
                "(SELECT 1 UNION SELECT 2) UNION ALL SELECT 3",
            ),
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
