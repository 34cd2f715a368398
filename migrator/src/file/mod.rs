//! The cluster file: where it is, what it says, and what of it is wrong.

mod address;
mod parse;
mod service;
mod template;

use std::path::{Path, PathBuf};

pub(crate) use address::{Address, follower_of};
use indexmap::IndexMap;
use shardid_cluster::{Declared, NodeName};
pub(crate) use template::{EMBEDDED_FOLDER, TEMPLATE};

use crate::failure::Failure;

/// The name of the cluster file.
pub(crate) const FILE_NAME: &str = "shardid.toml";

/// A cluster file that makes sense, with its environment variables filled in.
#[derive(Debug)]
pub(crate) struct ClusterFile {
    /// Where it was read from.
    pub(crate) path: PathBuf,
    /// What it declares.
    pub(crate) declared: Declared,
    /// How to reach its nodes, in the order of the file.
    pub(crate) addresses: IndexMap<NodeName, Address>,
}

impl ClusterFile {
    /// Reads the file at `path`, or finds one, of a cluster that has shards.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, Failure> {
        let file = Self::load_any(path)?;
        if file.declared.has_shards() {
            return Ok(file);
        }
        Err(Failure::usage(format!(
            "cluster {} in {} has no shards, only ticket servers",
            file.declared.name,
            file.path.display()
        ))
        .hint("shards live on PostgreSQL nodes: declare one, and `shards` in [cluster]"))
    }

    /// The same of a cluster that may be of ticket servers alone.
    pub(crate) fn load_any(path: Option<&Path>) -> Result<Self, Failure> {
        let path = find(path)?;
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Failure::usage(format!("could not read {}: {error}", path.display()))
        })?;
        let environment = |name: &str| std::env::var(name).ok();
        let (declared, addresses) =
            parse::parse(&text, environment).map_err(|error| error.report(&path, &text))?;
        Ok(Self { path, declared, addresses })
    }

    /// The address of a node of the file.
    pub(crate) fn address(&self, node: &NodeName) -> Result<&Address, Failure> {
        self.addresses.get(node).ok_or_else(|| {
            Failure::new(format!("there is no node {node} in {}", self.path.display()))
                .hint(format!("add [nodes.{node}] with its url"))
        })
    }

    /// The addresses of the PostgreSQL nodes, in the order of the file.
    pub(crate) fn postgres(&self) -> impl Iterator<Item = (&NodeName, &Address)> {
        self.declared.postgres().filter_map(|node| self.addresses.get_key_value(&node.name))
    }
}

/// Whether there is a cluster file to read where none is named.
pub(crate) fn exists(path: Option<&Path>) -> bool {
    path.is_some() || find(None).is_ok()
}

/// The file that is named, or the one here, or that of `shardid dev up`.
fn find(path: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = path {
        return Ok(path.to_owned());
    }
    let embedded = Path::new(EMBEDDED_FOLDER).join(FILE_NAME);
    [PathBuf::from(FILE_NAME), embedded].into_iter().find(|path| path.exists()).ok_or_else(|| {
        Failure::usage(format!("there is no {FILE_NAME} here"))
            .hint("write one with `shardid init`, start servers to play with by `shardid dev up`, or name one with `--file`")
    })
}
