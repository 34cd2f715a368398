//! From the text of a cluster file to values, or to the line that is wrong.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shardid_cluster::{
    ClusterName, Declared, DeclaredError, DeclaredNode, DeclaredTicket, LayoutName, NodeName,
    SERVERS_MAX, ShardCount, TicketName,
};
use toml::Spanned;

use crate::failure::Failure;
use crate::file::address::Address;

/// What is wrong with a cluster file, and where.
#[derive(Debug)]
pub(super) struct ParseError {
    /// The bytes to look at.
    span: Option<Range<usize>>,
    /// The key, as `nodes.pg1.url`.
    key: String,
    message: String,
    hint: Option<String>,
}

impl ParseError {
    /// The error as a person needs it: file, line, key, what is wrong.
    pub(super) fn report(self, path: &Path, text: &str) -> Failure {
        let mut place = path.display().to_string();
        if let Some(span) = self.span {
            let line =
                text.as_bytes()[..span.start.min(text.len())].iter().filter(|b| **b == b'\n');
            place = format!("{place}:{}", line.count() + 1);
        }
        if !self.key.is_empty() {
            place = format!("{place}: {}", self.key);
        }
        let failure = Failure::usage(self.message).at(place);
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Reads a cluster file; `environment` gives the value of a variable.
pub(super) fn parse(
    text: &str,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<(Declared, IndexMap<NodeName, Address>), ParseError> {
    let file: RawFile = toml::from_str(text).map_err(from_toml)?;
    let mut nodes = Vec::new();
    let mut addresses = IndexMap::new();
    for (Checked(name), raw) in &file.nodes {
        let address = Address::new(raw.url.as_ref(), &environment).map_err(|error| ParseError {
            span: Some(raw.url.span()),
            key: format!("nodes.{name}.url"),
            hint: error.hint(),
            message: error.to_string(),
        })?;
        let weight = raw.weight.0;
        nodes.push(DeclaredNode { name: name.clone(), engine: address.engine(), weight });
        addresses.insert(name.clone(), address);
    }
    let mut tickets = Vec::new();
    for (Checked(name), raw) in &file.tickets {
        tickets.push(ticket(name, raw, &addresses)?);
    }
    let cluster = file.cluster.get_ref();
    let declared = Declared {
        name: cluster.name.0.clone(),
        shards: cluster.shards.as_ref().map_or(ShardCount::NONE, |shards| shards.get_ref().0),
        layout: cluster.layout.0.clone(),
        catalog: cluster.catalog.get_ref().0.clone(),
        nodes,
        tickets,
    };
    let declared = declared.check().map_err(|error| ParseError {
        span: match error {
            DeclaredError::NoNodes => None,
            DeclaredError::NoShards => Some(file.cluster.span()),
            DeclaredError::TooManyShards { .. } | DeclaredError::NoHome => {
                cluster.shards.as_ref().map(Spanned::span)
            }
            _ => Some(cluster.catalog.span()),
        },
        key: error.key().to_owned(),
        hint: matches!(error, DeclaredError::NoNodes)
            .then(|| "[nodes.pg1] with `url = \"postgres://…\"` declares one".to_owned()),
        message: error.to_string(),
    })?;
    Ok((declared, addresses))
}

/// Checks the servers of a ticket.
fn ticket(
    name: &TicketName,
    raw: &RawTicket,
    addresses: &IndexMap<NodeName, Address>,
) -> Result<DeclaredTicket, ParseError> {
    let wrong = |span: Range<usize>, message: String, hint: Option<String>| ParseError {
        span: Some(span),
        key: format!("tickets.{name}.servers"),
        message,
        hint,
    };
    let mut servers: Vec<NodeName> = Vec::new();
    for server in raw.servers.get_ref() {
        let text = server.get_ref();
        let Some(node) = addresses.keys().find(|node| node.as_str() == text) else {
            let hint = format!("add [nodes.{text}] with its url");
            return Err(wrong(server.span(), format!("there is no node {text}"), Some(hint)));
        };
        if servers.contains(node) {
            return Err(wrong(server.span(), format!("node {text} is named twice"), None));
        }
        servers.push(node.clone());
    }
    if !(1..=SERVERS_MAX).contains(&servers.len()) {
        let message = format!("a ticket has 1 to {SERVERS_MAX} servers, not {}", servers.len());
        return Err(wrong(raw.servers.span(), message, None));
    }
    Ok(DeclaredTicket { name: name.clone(), servers })
}

/// Takes an error of the TOML reader apart; it keeps its key to itself except in print.
fn from_toml(mut error: toml::de::Error) -> ParseError {
    error.set_input(None);
    let printed = error.to_string();
    let key =
        printed.rsplit_once("in `").map_or("", |(_, key)| key.trim_end().trim_end_matches('`'));
    ParseError {
        span: error.span(),
        key: key.to_owned(),
        message: error.message().replace("invalid type: ", "found ").replace('\n', ", "),
        hint: None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    cluster: Spanned<RawCluster>,
    #[serde(default)]
    nodes: IndexMap<Checked<NodeName>, RawNode>,
    #[serde(default)]
    tickets: IndexMap<Checked<TicketName>, RawTicket>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCluster {
    name: Checked<ClusterName>,
    shards: Option<Spanned<Shards>>,
    #[serde(default = "default_layout")]
    layout: Checked<LayoutName>,
    catalog: Spanned<Checked<NodeName>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNode {
    url: Spanned<String>,
    #[serde(default)]
    weight: Weight,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTicket {
    servers: Spanned<Vec<Spanned<String>>>,
}

fn default_layout() -> Checked<LayoutName> {
    Checked(LayoutName::new(shardid_ids::DEFAULT_LAYOUT).expect("the default is a name"))
}

/// A text that became a checked type while it was read.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked<T>(T);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map(Self).map_err(de::Error::custom)
    }
}

#[derive(Debug)]
struct Shards(ShardCount);

impl<'de> Deserialize<'de> for Shards {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = from.deserialize_i64(WholeNumber("a whole number of shards"))?;
        ShardCount::new(number).map(Self).map_err(de::Error::custom)
    }
}

#[derive(Debug)]
struct Weight(u32);

impl Default for Weight {
    fn default() -> Self {
        Self(1)
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        const MAX: i64 = 1_000_000;
        let number = from.deserialize_i64(WholeNumber("a whole number as weight"))?;
        if !(0..=MAX).contains(&number) {
            return Err(de::Error::custom(format!("a weight is 0 to {MAX}, not {number}")));
        }
        Ok(Self(number as u32))
    }
}

/// Says what was expected in words of the file, not of the program.
struct WholeNumber(&'static str);

impl Visitor<'_> for WholeNumber {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
        Ok(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::TEMPLATE;
    use proptest::prelude::*;

    fn wrong(text: &str) -> String {
        let error = parse(text, |_| None).unwrap_err();
        let line = error.span.map(|s| text[..s.start].matches('\n').count() + 1);
        format!("{}: {}: {}", line.unwrap_or(0), error.key, error.message)
    }

    const CLUSTER: &str = "[cluster]\nname = \"c\"\nshards = 8\ncatalog = \"a\"\n";
    const NODE: &str = "[nodes.a]\nurl = \"postgres://h/d\"\n";

    #[test]
    fn the_template_is_a_cluster_file() {
        let (declared, addresses) = parse(TEMPLATE, |_| None).unwrap();
        assert_eq!(declared.name.as_str(), "photos");
        assert_eq!(declared.shards.get(), 4096);
        assert_eq!(addresses.len(), 2);
    }

    #[test]
    fn a_cluster_of_ticket_servers_alone_needs_no_shards() {
        let text = "[cluster]\nname = \"c\"\ncatalog = \"m\"\n[nodes.m]\nurl = \"mysql://h/d\"\n\
                    [tickets.orders]\nservers = [\"m\"]\n";
        let (declared, _) = parse(text, |_| None).unwrap();
        assert!(!declared.has_shards());
        assert_eq!(declared.tickets[0].servers[0].as_str(), "m");
    }

    #[test]
    fn nodes_keep_the_order_of_the_file() {
        let text = format!(
            "{CLUSTER}[nodes.z]\nurl = \"postgres://h/1\"\n{NODE}[nodes.b]\nurl = \"postgres://h/2\"\n"
        );
        let (declared, _) = parse(&text, |_| None).unwrap();
        let names: Vec<_> = declared.nodes.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["z", "a", "b"]);
        assert!(declared.nodes.iter().all(|n| n.weight == 1));
    }

    #[test]
    fn errors_name_the_line_the_key_and_what_was_expected() {
        let with = |cluster: &str| format!("[cluster]\n{cluster}\n{NODE}");
        let cases = [
            (String::from("[cluster"), "1: : unclosed table, expected `]`"),
            (with("name = \"c\"\ncatalog = \"a\""), "1: cluster: missing field `shards`"),
            (
                with("name = 7\nshards = 8\ncatalog = \"a\""),
                "2: cluster.name: found integer `7`, expected a string",
            ),
            (
                with("name = \"a b\"\nshards = 8\ncatalog = \"a\""),
                "2: cluster.name: a name has letters, digits, `_`, `-` and `.`, and begins with a letter or digit",
            ),
            (
                with("name = \"c\"\nshards = 0\ncatalog = \"a\""),
                "3: cluster.shards: a cluster has 1 to 2147483648 shards, not 0",
            ),
            (
                with("name = \"c\"\nshards = \"x\"\ncatalog = \"a\""),
                "3: cluster.shards: found string \"x\", expected a whole number of shards",
            ),
            (
                with("name = \"c\"\nshards = 9000\ncatalog = \"a\""),
                "3: cluster.shards: layout instagram has room for at most 8192 shards, not 9000",
            ),
            (
                with("name = \"c\"\nshards = 8\ncatalog = \"b\""),
                "4: cluster.catalog: there is no node b",
            ),
            (
                with("name = \"c\"\nshards = 8\ncatalog = \"a\"\nlayuot = \"x\""),
                "5: cluster: unknown field `layuot`, expected one of `name`, `shards`, `layout`, `catalog`",
            ),
            (String::from(CLUSTER), "0: nodes: a cluster needs at least one node"),
            (
                format!("{CLUSTER}[nodes.a]\nurl = \"mysql://h/d\"\n"),
                "3: cluster.shards: shards live on PostgreSQL nodes, and there is none",
            ),
            (
                format!("{CLUSTER}{NODE}[tickets.t]\nservers = [\"a\", \"a\"]\n"),
                "8: tickets.t.servers: node a is named twice",
            ),
            (
                format!("{CLUSTER}{NODE}[tickets.t]\nservers = []\n"),
                "8: tickets.t.servers: a ticket has 1 to 1000 servers, not 0",
            ),
            (
                format!("{CLUSTER}{NODE}[tickets.\"a b\"]\nservers = [\"a\"]\n"),
                "7: tickets: a name has letters, digits, `_`, `-` and `.`, and begins with a letter or digit",
            ),
            (
                format!("{CLUSTER}{NODE}weight = -1\n"),
                "7: nodes.a.weight: a weight is 0 to 1000000, not -1",
            ),
            (
                format!("{CLUSTER}{NODE}weight = 1.5\n"),
                "7: nodes.a.weight: found floating point `1.5`, expected a whole number as weight",
            ),
            (format!("{CLUSTER}{NODE}[nodes.a]\nurl = \"x\"\n"), "7: : duplicate key"),
            (
                format!("{CLUSTER}{NODE}[tickets.t]\nservers = [\"m\"]\n"),
                "8: tickets.t.servers: there is no node m",
            ),
            (
                format!("{CLUSTER}[nodes.a]\nurl = \"postgres://u:geheim@h/d\"\n"),
                "6: nodes.a.url: a password stands in this file",
            ),
            (
                format!("{CLUSTER}[nodes.a]\nurl = \"${{NOT_SET}}\"\n"),
                "6: nodes.a.url: environment variable NOT_SET is not set",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(wrong(&text), expected, "in\n{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\[(cluster|nodes\\.a)\\]\n|[a-z]{1,7} *= *(\"\\PC{0,9}\"|-?[0-9]{1,22}|\\[\\])\n){0,9}") {
            if let Err(error) = parse(&text, |_| None) {
                let _ = error.report(Path::new("f"), &text);
            }
        }
    }
}
