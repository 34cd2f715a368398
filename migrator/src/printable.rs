//! How is a text shown that has names and messages of others in it?

/// A text that may have names and messages of others in it: nothing in it moves the cursor, and no line of theirs begins as one of
/// the program's own does.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => {
                shown.push(c);
                if chars.peek().is_some_and(|next| !next.is_whitespace()) {
                    shown.push_str("  ");
                }
            }
            '\t' => shown.push(c),
            // Those that have what follows read the other way round, or begin a line.
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.extend(c.escape_unicode());
            }
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// The same of what is one line, with line breaks as in a literal.
pub(crate) fn in_one_line(text: &str) -> String {
    printable(&text.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::{in_one_line, printable};

    #[test]
    fn what_is_one_line_stays_one() {
        assert_eq!(in_one_line("x\n\nhint: y"), "x\\n\\nhint: y");
        assert_eq!(in_one_line("\u{202e}abc"), "\\u{202e}abc");
    }

    #[test]
    fn names_of_others_look_like_no_line_of_the_program() {
        assert_eq!(printable("table \"x\n\nhint: y\""), "table \"x\n\n  hint: y\"");
        assert_eq!(printable("a\x1b[2Kb\rc\u{9b}d"), "a\\u{1b}[2Kb\\rc\\u{9b}d");
        let ours = "1 move\n  pg1 -> pg2\n\té\n";
        assert_eq!(printable(ours), ours);
    }
}
