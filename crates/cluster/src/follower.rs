//! Roles and streams by which nodes follow each other.

use crate::identity::Identity;
use crate::names::NodeName;

/// What the names of all such roles begin with.
pub const FOLLOWER_PREFIX: &str = "shardid/";

/// Whether a role has the name of one of the program's own: by which a node follows others, or that of a stream.
#[must_use]
pub fn is_own_role(name: &str) -> bool {
    let of_stream = |prefix| {
        let number = name.strip_prefix(prefix);
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name.starts_with(FOLLOWER_PREFIX)
        || ["shardid_move_", "shardid_back_"].into_iter().any(of_stream)
}

/// The longest part of a node's name in that of its role: an identifier has 63 bytes.
const NODE_MAX: usize = 38;

/// The role by which a node logs in at every other one to follow it.
///
/// The name is of the node and of the database it is, so that two clusters which share a
/// server never mean the same role.
pub fn follower_role(node: &NodeName, identity: &Identity) -> String {
    let whole = format!("{}/{}/{node}", identity.system_identifier, identity.database);
    let node: String = node.as_str().chars().take(NODE_MAX).collect();
    format!("{FOLLOWER_PREFIX}{node}/{:016x}", fnv_1a(whole.as_bytes()))
}

fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What a node knows about a role by which another one follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerRole {
    /// Whether it is one of this database: it may connect by a grant of its own.
    pub here: bool,
    /// Whether it has what it needs, nothing more, and nobody else has a part in it.
    pub sound: bool,
}

impl FollowerRole {
    /// Whether this database can be followed by it.
    pub fn is_ready(&self) -> bool {
        self.here && self.sound
    }
}

/// A stream by which one node follows another: that of a move, or of an old copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The name of its subscription.
    pub name: String,
    /// The schema that it fills.
    pub schema: String,
    /// The node that is followed.
    pub publisher: NodeName,
    /// What is wrong with it.
    pub fault: Option<StreamFault>,
}

/// What is wrong with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFault {
    /// The node that is followed does not let it in again.
    Login,
    /// It leads to another address than that of the node in the cluster file.
    Address,
    /// What comes is applied with the rights of a superuser.
    Rights,
    /// Nothing; its secret is to be another one.
    Secret,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(node: &str, system_identifier: i64, database: &str) -> String {
        let identity = Identity { system_identifier, database: database.into() };
        follower_role(&NodeName::new(node).unwrap(), &identity)
    }

    #[test]
    fn a_role_is_of_one_node_and_one_database_and_fits_an_identifier() {
        let all = [
            role("pg1", 7, "app"),
            role("pg2", 7, "app"),
            role("pg1", 8, "app"),
            role("pg1", 7, "app2"),
            role(&"n".repeat(62), 7, "app"),
            role(&"n".repeat(63), 7, "app"),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(one.len() <= 63 && one.starts_with(FOLLOWER_PREFIX), "{one}");
            assert!(!all[..i].contains(one), "{one} twice");
        }
        assert!(all.iter().all(|name| is_own_role(name)) && is_own_role("shardid_back_70"));
        assert!(
            !["shardid", "shardid_move_", "shardid_move_team", "my_shardid_move_5"]
                .into_iter()
                .any(is_own_role)
        );
        // It is looked for by this name in clusters that there are already.
        assert_eq!(all[0], "shardid/pg1/8fbb4cdd69f90ec1");
    }
}
