//! Removing what a move has made and does not need any more.

use shardid_cluster::{LeftoverKind, MoveState};

use super::drop_copy::drop_schema;
use super::journal::Leftover;
use super::road::Road;
use super::{fence, stream};
use crate::failure::Failure;

/// What is left to remove once a move is done.
pub(super) async fn clean_up(road: &mut Road<'_>) -> Result<(), Failure> {
    let Some(earlier) = road.record.rollback_of else { return Ok(()) };
    // Back where it was: the copy that was gone back from is of no use any more.
    drop_schema(&mut road.source, &road.record).await?;
    road.forget(&[LeftoverKind::Schema], &road.record.schema.clone()).await?;
    for left in road.journal.leftovers(earlier).await? {
        remove_by_name(road, &left).await?;
    }
    road.journal.retired(earlier).await
}

/// Removes everything that a move has made, as if it had never been.
pub(super) async fn remove_all(road: &mut Road<'_>) -> Result<(), Failure> {
    for left in road.journal.leftovers(road.record.id).await? {
        remove_by_name(road, &left).await?;
    }
    Ok(())
}

async fn remove_by_name(road: &mut Road<'_>, left: &Leftover) -> Result<(), Failure> {
    let on_target = left.node == road.target.node;
    let (here, there) = match on_target {
        true => (&mut road.target, &mut road.source),
        false => (&mut road.source, &mut road.target),
    };
    match left.kind {
        LeftoverKind::Subscription => {
            stream::remove_subscription(here, Some(there), &left.name).await?;
        }
        LeftoverKind::Slot => stream::remove_slot(here, &left.name).await?,
        LeftoverKind::Publication => stream::remove_publication(here, &left.name).await?,
        // A copy is dropped where it is none of the shard: the target's of a move that is
        // given up.
        LeftoverKind::Schema if on_target && road.record.state == MoveState::Aborting => {
            drop_schema(&mut road.target, &road.record).await?;
        }
        LeftoverKind::Schema => return Ok(()),
        LeftoverKind::Fence => fence::lower(road).await?,
    }
    road.journal.removed(left).await
}
