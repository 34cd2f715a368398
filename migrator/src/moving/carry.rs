//! Behind the fence: a last look at both copies, and every sequence carried over.

use std::time::Instant;

use super::context::MoveContext;
use super::outcome::Fence;
use super::{compare, fence, schema, sequences, unseen};
use crate::cuts;
use crate::failure::Failure;

pub(super) async fn carry_over(
    context: &mut MoveContext<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    let names = sequences::names(context).await?;
    if let lost @ Fence::Lost(_) = unseen::behind_fence(context, deadline).await? {
        return Ok(lost);
    }
    if let lost @ Fence::Lost(_) = fence::look(context).await? {
        return Ok(lost);
    }
    if let lost @ Fence::Lost(_) = schema::check_unchanged_by(context, deadline).await? {
        return Ok(lost);
    }
    if let lost @ Fence::Lost(_) = compare::within(context, deadline).await? {
        return Ok(lost);
    }
    cuts::at(format_args!("carry/looked"));
    if let lost @ Fence::Lost(_) = sequences::carry_over(context, deadline, &names).await? {
        return Ok(lost);
    }
    // Nobody can change it any more, until the old copy is closed.
    fence::look(context).await
}
