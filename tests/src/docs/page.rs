//! A page taken apart: its blocks, what they should print, and where they stand.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::Wrong;
use super::expected::Output;

/// The blocks of a page, in order.
pub(super) struct Page {
    pub(super) blocks: Vec<Block>,
}

/// Something to run.
pub(super) struct Block {
    /// The line of its first word, counted from 1.
    pub(super) line: usize,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// Statements for psql, and what they print, if the page shows it.
    Sql { text: String, output: Option<Output> },
    /// Statements for MariaDB and MySQL, or for MariaDB alone.
    My { text: String, output: Option<Output>, mariadb_only: bool },
    /// Commands for a shell.
    Console(Vec<Command>),
}

/// A command and what it prints, if the page shows it.
pub(super) struct Command {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) output: Option<Output>,
}

impl Command {
    /// The targets of a `make`, which is looked up and not run.
    pub(super) fn make_targets(&self) -> Option<Vec<&str>> {
        let words = self.text.split_whitespace().skip_while(|word| word.contains('='));
        let mut words = words.take_while(|word| !word.starts_with('#'));
        (words.next() == Some("make")).then(|| words.filter(|word| is_target(word)).collect())
    }
}

/// Not `ONLY=name`, nor what is left of `PG_CONFIG=$(command -v pg_config)`.
fn is_target(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !word.starts_with('-')
}

/// A piece of the page that is not prose.
enum Piece {
    Fence { info: String, text: String },
    Indented,
    Comment(String),
}

impl Page {
    /// Takes a page apart; the error names a line, and what cannot be there.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let mut blocks: Vec<Block> = Vec::new();
        for (at, piece) in pieces(text) {
            let line = text[..at].matches('\n').count() + 1;
            let (info, body) = match piece {
                Piece::Fence { info, text } => (info, text),
                Piece::Comment(body) => match hidden(&body) {
                    Some(hidden) => hidden,
                    None => continue,
                },
                Piece::Indented => return Err((line, "a block without a language".into())),
            };
            let (language, manner) = info.split_once(' ').unwrap_or((&info, ""));
            match (language, manner) {
                ("sql", "") => blocks.push(sql(line, body)?),
                ("sql", "mysql" | "mariadb") => blocks.push(Block {
                    line: line + 1,
                    kind: Kind::My { text: body, output: None, mariadb_only: manner == "mariadb" },
                }),
                ("console", "") => blocks.push(console(line, &body)?),
                ("text", "" | "example") => {
                    let output =
                        Output { line: line + 1, text: body, example: manner == "example" };
                    match blocks.last_mut().map(|block| &mut block.kind) {
                        Some(
                            Kind::Sql { output: none @ None, .. }
                            | Kind::My { output: none @ None, .. },
                        ) => *none = Some(output),
                        _ => {
                            return Err((
                                line,
                                "output of no sql block (or a `text picture`?)".into(),
                            ));
                        }
                    }
                }
                ("text", "picture") => {}
                _ => {
                    return Err((
                        line,
                        format!(
                            "a block of \"{info}\" cannot be run: there are sql, sql mysql, sql mariadb, console, text, text example and text picture"
                        ),
                    ));
                }
            }
        }
        Ok(Self { blocks })
    }
}

fn sql(line: usize, text: String) -> Result<Block, Wrong> {
    let last =
        text.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with("--"));
    let ends = last.is_some_and(|last| {
        // A remark may follow the last statement.
        let code = last.split("--").next().unwrap_or_default().trim_end();
        code.ends_with(';') || last.starts_with('\\')
    });
    if !ends {
        return Err((line, "the last statement of this block has no semicolon".into()));
    }
    Ok(Block { line: line + 1, kind: Kind::Sql { text, output: None } })
}

fn console(line: usize, body: &str) -> Result<Block, Wrong> {
    let mut commands: Vec<Command> = Vec::new();
    for (line, text) in (line + 1..).zip(body.lines()) {
        if let Some(text) = text.strip_prefix("$ ") {
            commands.push(Command { line, text: text.to_owned(), output: None });
            continue;
        }
        let Some(command) = commands.last_mut() else {
            return Err((line, "a console block begins with `$ command`".into()));
        };
        match (text.strip_prefix("> "), &mut command.output) {
            (Some(more), None) => {
                command.text.push('\n');
                command.text.push_str(more);
            }
            (_, Some(output)) => {
                output.text.push_str(text);
                output.text.push('\n');
            }
            (None, none) => {
                if !text.trim().is_empty() {
                    *none = Some(Output { line, text: format!("{text}\n"), example: true });
                }
            }
        }
    }
    if commands.is_empty() {
        return Err((line, "a console block begins with `$ command`".into()));
    }
    Ok(Block { line: line + 1, kind: Kind::Console(commands) })
}

/// The block in a comment that holds one: its language and its text.
fn hidden(comment: &str) -> Option<(String, String)> {
    let body = comment.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let (first, rest) = body.split_once('\n')?;
    let language = first.trim();
    matches!(language, "sql" | "console").then(|| (language.to_owned(), rest.to_owned()))
}

/// All code blocks and comments, each with the place where it begins.
fn pieces(text: &str) -> Vec<(usize, Piece)> {
    let mut found: Vec<(usize, Piece)> = Vec::new();
    let mut inside = false;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                inside = true;
                let info = info.trim().to_owned();
                found.push((range.start, Piece::Fence { info, text: String::new() }));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                found.push((range.start, Piece::Indented));
            }
            Event::Start(Tag::HtmlBlock) => {
                inside = true;
                found.push((range.start, Piece::Comment(String::new())));
            }
            Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock) => inside = false,
            Event::Text(more) | Event::Html(more) if inside => {
                if let Some((_, Piece::Fence { text, .. } | Piece::Comment(text))) =
                    found.last_mut()
                {
                    text.push_str(&more);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Wrong {
        match Page::parse(text) {
            Ok(_) => panic!("this should be refused:\n{text}"),
            Err(wrong) => wrong,
        }
    }

    #[test]
    fn every_block_is_found_with_its_line_and_its_output() {
        let page = Page::parse(
            "# Title\n\n<!-- sql\nSELECT 0;\n-->\n\nProse\n\n```sql\nSELECT 1; -- one\n```\n\ngives\n\n```text example\n 1\n```\n\n1. listed:\n\n   ```console\n   $ true\n   $ echo a \\\n   > b\n   a b\n   ```\n\n```text picture\n+--+\n```\n\n<!-- a remark -->\n",
        )
        .expect("it is a page");
        assert_eq!(page.blocks.iter().map(|b| b.line).collect::<Vec<_>>(), [4, 10, 22]);
        let Kind::Sql { text, output } = &page.blocks[1].kind else { panic!("it is sql") };
        let output = output.as_ref().expect("it follows");
        assert_eq!((text.as_str(), output.text.as_str()), ("SELECT 1; -- one\n", " 1\n"));
        assert!(output.example && output.line == 16);
        let Kind::Console(commands) = &page.blocks[2].kind else { panic!("it is a console") };
        assert!(commands[0].output.is_none());
        assert_eq!(commands[1].text, "echo a \\\nb");
        assert_eq!(
            commands[1].output.as_ref().map(|o| (o.line, o.text.as_str())),
            Some((25, "a b\n"))
        );
    }

    #[test]
    fn what_would_be_left_out_is_refused() {
        assert_eq!(wrong("one\n\n```toml\na = 1\n```\n").0, 3);
        assert_eq!(wrong("```\nSELECT 1;\n```\n").0, 1);
        assert_eq!(wrong("one\n\n    SELECT 1;\n").0, 3);
        assert_eq!(wrong("```text\n1\n```\n").0, 1);
        assert_eq!(wrong("```sql\nSELECT 1;\n```\n```text\n1\n```\n```text\n1\n```\n").0, 7);
        assert_eq!(wrong("```sql\nSELECT 1\n```\n").0, 1);
        assert_eq!(wrong("```sql ignore\nSELECT 1;\n```\n").0, 1);
        assert_eq!(wrong("```console\nls\n```\n").0, 2);
        assert_eq!(wrong("```console\n```\n").0, 1);
    }

    #[test]
    fn make_is_told_from_other_commands() {
        let command = |text: &str| Command { line: 1, text: text.to_owned(), output: None };
        assert_eq!(command("make demo").make_targets(), Some(vec!["demo"]));
        assert_eq!(command("make test ONLY=x # all").make_targets(), Some(vec!["test"]));
        let install = command("make install PG_CONFIG=$(command -v pg_config)");
        assert_eq!(install.make_targets(), Some(vec!["install"]));
        assert_eq!(command("makepkg").make_targets(), None);
    }
}
