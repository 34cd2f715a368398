//! What is said where the journal is not ours to write, or too old?

use shardid_cluster::{MoveState, NoSuchStep, NodeName};

use super::record::Move;
use crate::failure::Failure;

/// Another program has begun to work on a move.
pub(in crate::moving) fn overtaken(id: i64) -> Failure {
    Failure::new(format!("somebody else has begun to work on move {id}"))
        .hint("look again with `shardid moves`")
}

/// The catalog's tables have not all that this program knows.
pub(in crate::moving) fn older_catalog(node: &NodeName) -> Failure {
    Failure::new("the catalog is older than this program")
        .at(format!("node {node}"))
        .hint("`shardid apply` brings it up to date")
}

/// A move cannot be taken that way from where it is.
pub(super) fn no_such_step(record: &Move, refusal: &NoSuchStep) -> Failure {
    let (id, state) = (record.id, record.state);
    let failure = Failure::new(format!("move {id}: {refusal}"));
    match state {
        MoveState::Done => failure.hint(format!("`shardid rollback {id}` goes back")),
        state if state.is_over() => failure,
        _ => failure.hint(format!("`shardid resume {id}` goes on")),
    }
}
