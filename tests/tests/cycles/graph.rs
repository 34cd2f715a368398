//! Which files of a crate need which, and where does that go round in a circle?

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::source::Source;

/// The place of a file in its crate: no word for the top, `["moving", "road"]` for a file
/// below `moving`.
type Module = Vec<String>;

/// The files of a crate.
pub(crate) struct Graph {
    files: BTreeMap<Module, (PathBuf, Source)>,
}

/// Files that need each other, a line for each tie: `a -> b: names`.
pub(crate) struct Cycle(String);

impl fmt::Display for Cycle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Graph {
    /// Reads the files of the crate in a folder, from its top down.
    pub(crate) fn read(folder: &Path) -> Graph {
        let src = folder.join("src");
        let top = ["lib.rs", "main.rs"].map(|name| src.join(name));
        let top = top.into_iter().find(|path| path.exists()).expect("a crate has a top");
        let mut read = Graph { files: BTreeMap::new() };
        read.add(Module::new(), &top, &src, &src);
        read
    }

    /// Adds a file and those that it declares; they are in the folder of its name.
    fn add(&mut self, module: Module, path: &Path, below: &Path, src: &Path) {
        let source = Source::read(&fs::read_to_string(path).unwrap());
        for child in &source.children {
            let paths = [below.join(format!("{child}.rs")), below.join(child).join("mod.rs")];
            let found = paths.iter().find(|path| path.exists());
            let found = found.unwrap_or_else(|| panic!("no file {paths:?}"));
            let mut inner = module.clone();
            inner.push(child.clone());
            self.add(inner, found, &below.join(child), src);
        }
        let shown = path.strip_prefix(src).expect("a file of the crate").to_owned();
        self.files.insert(module, (shown, source));
    }

    /// How many pairs of files are tied.
    pub(crate) fn ties(&self) -> usize {
        self.edges().len()
    }

    /// The files that need each other, group by group.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        let edges = self.edges();
        let graph: DiGraphMap<&Path, ()> = edges.keys().map(|(from, to)| (*from, *to)).collect();
        let mut groups: Vec<Vec<&Path>> =
            tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1).collect();
        groups.sort();
        let tell = |group: Vec<&Path>| {
            let within =
                edges.iter().filter(|((from, to), _)| group.contains(from) && group.contains(to));
            Cycle(
                within
                    .map(|((from, to), names)| {
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        format!("  {} -> {}: {}\n", from.display(), to.display(), names.join(", "))
                    })
                    .collect(),
            )
        };
        groups.into_iter().map(tell).collect()
    }

    /// Which file takes which names from which other.
    fn edges(&self) -> BTreeMap<(&Path, &Path), BTreeSet<String>> {
        let mut edges: BTreeMap<(&Path, &Path), BTreeSet<String>> = BTreeMap::new();
        for (module, (from, source)) in &self.files {
            let globs = source.globs.iter().map(|path| [path.as_slice(), &["*".into()]].concat());
            for path in source.paths.iter().cloned().chain(globs) {
                let Some((to, name)) = self.resolve(module, &path, 0) else { continue };
                if from != to {
                    edges.entry((from, to)).or_default().insert(name);
                }
            }
        }
        edges
    }

    /// The file that defines what a path leads to from a module, and its name there. None
    /// for what is of another crate, and for a module itself: what is taken from that counts.
    fn resolve(&self, module: &Module, path: &[String], depth: u32) -> Option<(&Path, String)> {
        let source = &self.files[module].1;
        let first = path.first()?.as_str();
        // Two names that stand for each other cannot be compiled.
        if depth > 32 {
            return None;
        }
        match first {
            "crate" => self.walk(Module::new(), &path[1..], depth),
            "self" => self.walk(module.clone(), &path[1..], depth),
            "super" => {
                let (_, parent) = module.split_last()?;
                match path.get(1).is_some_and(|next| next == "super") {
                    true => self.resolve(&parent.to_vec(), &path[1..], depth),
                    false => self.walk(parent.to_vec(), &path[1..], depth),
                }
            }
            _ if source.children.contains(first) || source.imports.contains_key(first) => {
                self.walk(module.clone(), path, depth)
            }
            _ => None,
        }
    }

    /// Goes on from a module by the words that follow.
    fn walk(&self, mut module: Module, path: &[String], depth: u32) -> Option<(&Path, String)> {
        for (i, name) in path.iter().enumerate() {
            let (file, source) = &self.files[&module];
            if source.children.contains(name) {
                module.push(name.clone());
                continue;
            }
            let rest = &path[i + 1..];
            if source.defined.contains(name) {
                return Some((file, name.clone()));
            }
            if let Some(import) = source.imports.get(name) {
                let whole: Vec<String> = import.iter().chain(rest).cloned().collect();
                // `use serde;` stands for the crate of that name.
                return match whole.as_slice() == &path[i..] {
                    true => None,
                    false => self.resolve(&module, &whole, depth + 1),
                };
            }
            // Made by a macro, or taken from a module with all that it has.
            return Some((file, name.clone()));
        }
        None
    }
}
