//! What does a file name of other files, and what does it hand on?

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A file, by its words. Comments and literals say nothing here.
#[derive(Default)]
pub(crate) struct Source {
    /// The modules that are files of their own, but for those of unit tests.
    pub(crate) children: BTreeSet<String>,
    /// Which path each imported name stands for.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// The modules of which everything is imported.
    pub(crate) globs: Vec<Vec<String>>,
    /// What is defined here, at the top of the file.
    pub(crate) defined: BTreeSet<String>,
    /// Every path in the code, of two words at least.
    pub(crate) paths: BTreeSet<Vec<String>>,
}

/// The words before the name of what is defined.
const DEFINES: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

impl Source {
    /// Reads the text of a file.
    pub(crate) fn read(text: &str) -> Source {
        let mut source = Source::default();
        let tokens = text.parse().unwrap_or_else(|error| panic!("{error} in:\n{text}"));
        source.take(tokens, true);
        source
    }

    /// Reads tokens: those of the file, or those between two braces of it.
    fn take(&mut self, tokens: TokenStream, at_top: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut i = 0;
        while i < tokens.len() {
            if is_for_tests(&tokens[i..]) {
                i = end_of_item(&tokens, i + 2);
                continue;
            }
            match (&tokens[i], word(tokens.get(i + 1)), tokens.get(i + 2)) {
                // Not the `use<'a>` of a type.
                (TokenTree::Ident(first), _, _)
                    if first == "use" && !is_sign(tokens.get(i + 1), '<') =>
                {
                    let end = (i..tokens.len()).find(|end| is(&tokens[*end], ';'));
                    let end = end.unwrap_or(tokens.len());
                    self.import(&tokens[i + 1..end], &[]);
                    i = end;
                }
                (TokenTree::Ident(first), Some(name), Some(next)) if at_top && first == "mod" => {
                    // `super` would mean something else in its braces.
                    assert!(is(next, ';'), "module {name} is to have a file of its own");
                    self.children.insert(name);
                    i += 1;
                }
                (TokenTree::Ident(first), Some(name), _)
                    if at_top && DEFINES.iter().any(|word| first == word) && name != "fn" =>
                {
                    self.defined.insert(name);
                    i += 1;
                }
                (TokenTree::Ident(first), ..) if at_top && first == "macro_rules" => {
                    self.defined.extend(word(tokens.get(i + 2)));
                    i += 2;
                }
                (TokenTree::Ident(_), ..) => {
                    let (path, end) = path(&tokens, i);
                    // What follows `::` or `.` belongs to something before it.
                    let goes_on = i > 1 && is(&tokens[i - 1], ':') && is(&tokens[i - 2], ':');
                    if path.len() > 1 && !goes_on {
                        self.paths.insert(path);
                    }
                    i = end - 1;
                }
                (TokenTree::Group(group), ..) => self.take(group.stream(), false),
                _ => {}
            }
            i += 1;
        }
    }

    /// Reads what stands behind `use`, or between the braces of it.
    fn import(&mut self, tokens: &[TokenTree], before: &[String]) {
        for tree in tokens.split(|token| is(token, ',')) {
            let leading = tree.iter().take_while(|token| is(token, ':')).count();
            let tree = &tree[leading..];
            if tree.is_empty() {
                continue;
            }
            let (words, end) = path(tree, 0);
            let mut whole = before.to_vec();
            whole.extend(words);
            // `a::{self}` is `a`.
            if whole.len() > 1 && whole.last().is_some_and(|last| last == "self") {
                whole.pop();
            }
            match (tree.get(end), word(tree.get(end + 1))) {
                (Some(TokenTree::Group(group)), _) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.import(&inner, &whole);
                }
                (Some(star), _) if is(star, '*') => self.globs.push(whole),
                (Some(_), Some(alias)) => self.name(alias, whole),
                _ => self.name(whole.last().expect("a path has words").clone(), whole),
            }
        }
    }

    fn name(&mut self, name: String, path: Vec<String>) {
        self.paths.insert(path.clone());
        self.imports.insert(name, path);
    }
}

/// The path that begins with a word, and where it ends; in an import, behind the last `::`.
fn path(tokens: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let mut words: Vec<String> = word(tokens.get(start)).into_iter().collect();
    let mut end = start + usize::from(!words.is_empty());
    while let [first, second, ..] = &tokens[end..] {
        if words.is_empty() || !is(first, ':') || !is(second, ':') {
            break;
        }
        end += 2;
        let Some(next) = word(tokens.get(end)) else { break };
        words.push(next);
        end += 1;
    }
    (words, end)
}

/// Whether `#[cfg(test)]` stands here, or one that says so among others.
fn is_for_tests(tokens: &[TokenTree]) -> bool {
    let [hash, TokenTree::Group(attribute), ..] = tokens else { return false };
    let words = attribute.stream().to_string().replace(' ', "");
    is(hash, '#')
        && attribute.delimiter() == Delimiter::Bracket
        && ["cfg(test)", "cfg(all(test,"].iter().any(|start| words.starts_with(start))
}

/// The index behind the item that begins here: behind its body, or its semicolon.
fn end_of_item(tokens: &[TokenTree], start: usize) -> usize {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is(token, ';'),
    };
    let is_use = word(tokens.get(start)).is_some_and(|first| first == "use");
    let ends = |token: &TokenTree| if is_use { is(token, ';') } else { is_end(token) };
    (start..tokens.len()).find(|i| ends(&tokens[*i])).map_or(tokens.len(), |end| end + 1)
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(word)) => Some(word.to_string()),
        _ => None,
    }
}

fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    token.is_some_and(|token| is(token, sign))
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}
