//! Removing what a move has made and does not need any more.

use shardid_cluster::{LeftoverKind, MoveState};

use super::context::MoveContext;
use super::drop_copy::drop_schema;
use super::journal::Leftover;
use super::old_copy::check_back;
use super::take_away::{self, Kept};
use super::{fence, stream};
use crate::failure::Failure;

/// What is left to remove once a move is done.
pub(super) async fn clean_up(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let (shard, schema) = (context.record.shard, context.record.schema.clone());
    let kept = take_away::patiently(&mut context.target, shard, &schema).await?;
    tell(context, kept);
    let Some(earlier) = context.record.rollback_of else {
        return stream::let_names(context).await;
    };
    // Back where it was: the copy that was gone back from is of no use any more, unless somebody has dropped the other.
    check_back(&mut context.target, &mut context.source, &context.record).await?;
    drop_schema(&mut context.source, &context.record).await?;
    context.forget(&[LeftoverKind::Schema], &context.record.schema.clone()).await?;
    for left in context.journal.leftovers(earlier).await? {
        remove_by_name(context, &left).await?;
    }
    stream::let_names(context).await?;
    context.journal.retired(earlier).await
}

/// Removes everything that a move has made, as if it had never been.
pub(super) async fn remove_all(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    // What had ended with the target that was opened is there again on a standby of then.
    if context.record.was_switched {
        let name = context.record.stream();
        let publisher = Some(&mut context.source);
        stream::remove_subscription(&mut context.target, publisher, &name).await?;
    }
    for left in context.journal.leftovers(context.record.id).await? {
        remove_by_name(context, &left).await?;
    }
    let (shard, schema) = (context.record.shard, context.record.schema.clone());
    let kept = take_away::patiently(&mut context.source, shard, &schema).await?;
    tell(context, kept);
    stream::let_names(context).await
}

/// Says what stays of the fence around a shard that takes writes again.
fn tell(context: &MoveContext<'_>, kept: Option<Kept>) {
    if let Some(kept) = kept {
        context.say(kept);
    }
}

async fn remove_by_name(context: &mut MoveContext<'_>, left: &Leftover) -> Result<(), Failure> {
    let on_target = left.node == context.target.node;
    let (here, there) = match on_target {
        true => (&mut context.target, &mut context.source),
        false => (&mut context.source, &mut context.target),
    };
    match left.kind {
        LeftoverKind::Subscription => {
            stream::remove_subscription(here, Some(there), &left.name).await?;
        }
        LeftoverKind::Slot => stream::remove_slot(here, &left.name).await?,
        LeftoverKind::Publication => stream::remove_publication(here, &left.name).await?,
        // A copy is dropped where it is none of the shard: the target's of a move that is
        // given up.
        LeftoverKind::Schema if on_target && context.record.state == MoveState::Aborting => {
            drop_schema(&mut context.target, &context.record).await?;
        }
        LeftoverKind::Schema => return Ok(()),
        LeftoverKind::Fence => fence::lower(context).await?,
    }
    context.journal.removed(left).await
}
