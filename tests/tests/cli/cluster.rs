//! A cluster of databases in the shared server, with a cluster file for them.

use std::path::Path;
use std::process::Command;

use shardid_tests::Database;
use tempfile::TempDir;

use crate::program::{self, Run};

/// Databases pg1, pg2, … and a folder with their cluster file.
pub(crate) struct Cluster {
    folder: TempDir,
    pub(crate) nodes: Vec<Database<'static>>,
}

impl Cluster {
    /// Empty databases, and a cluster file that declares so many shards on them.
    pub(crate) fn of(nodes: usize, shards: u32) -> Self {
        let cluster = Self {
            folder: tempfile::tempdir().expect("a folder in /tmp"),
            nodes: (0..nodes).map(|_| Database::fresh_plain()).collect(),
        };
        cluster.declare(shards, |_| String::new());
        cluster
    }

    /// A cluster that was applied.
    #[track_caller]
    pub(crate) fn applied(nodes: usize, shards: u32) -> Self {
        let cluster = Self::of(nodes, shards);
        cluster.run(&["apply", "--yes"]).ok();
        cluster
    }

    /// Writes the cluster file; `more` adds lines to node number 1, 2, ….
    pub(crate) fn declare(&self, shards: u32, more: impl Fn(usize) -> String) {
        let mut text = head(shards);
        for (i, node) in self.nodes.iter().enumerate() {
            text.push_str(&format!(
                "\n[nodes.pg{}]\nurl = \"{}\"\n{}\n",
                i + 1,
                node.url(),
                more(i + 1)
            ));
        }
        self.write(&text);
    }

    /// Writes another cluster file.
    pub(crate) fn write(&self, text: &str) {
        std::fs::write(self.folder().join("shardid.toml"), text).expect("the folder is ours");
    }

    /// Changes the cluster file.
    #[track_caller]
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let path = self.folder().join("shardid.toml");
        let text = std::fs::read_to_string(path).expect("the file is there");
        assert!(text.contains(from), "{from} is not in\n{text}");
        self.write(&text.replace(from, to));
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program in the cluster's folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        program::command(self.folder(), arguments)
    }

    /// Runs the program in the cluster's folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        program::run(self.command(arguments))
    }

    /// Every row that the program keeps on any node, with the transaction that
    /// wrote it: equal before and after means that nothing was touched.
    pub(crate) fn rows(&self) -> Vec<String> {
        let kept = "SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM (
            SELECT 'extension', xmin::text, extversion, '' FROM pg_extension
            UNION ALL SELECT 'schema', xmin::text, nspname::text, '' FROM pg_namespace
            UNION ALL SELECT 'class', xmin::text, relname::text, '' FROM pg_class) x";
        let tables = "SELECT 'SELECT string_agg(t.xmin || t::text, E''\n'' ORDER BY t::text) FROM ' || c.oid::regclass || ' t'
            FROM pg_class c WHERE relkind = 'r' AND relnamespace = to_regnamespace('shardid') ORDER BY 1";
        let mut rows = Vec::new();
        for node in &self.nodes {
            rows.push(node.psql(kept));
            for query in node.psql(tables).replace("E'\n'", "','").lines() {
                rows.push(format!("{query}: {}", node.psql(query)));
            }
        }
        rows
    }
}

fn head(shards: u32) -> String {
    format!("[cluster]\nname = \"photos\"\nshards = {shards}\ncatalog = \"pg1\"\n")
}
