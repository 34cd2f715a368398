//! Behind the fence: a last look at both copies, and every sequence carried over.

use std::time::Instant;

use super::outcome::Fence;
use super::road::Road;
use super::{compare, schema, sequences, unseen};
use crate::failure::Failure;

pub(super) async fn carry_over(road: &mut Road<'_>, deadline: Instant) -> Result<Fence, Failure> {
    if let lost @ Fence::Lost(_) = unseen::behind_fence(road, deadline).await? {
        return Ok(lost);
    }
    schema::check_unchanged(road).await?;
    if let lost @ Fence::Lost(_) = compare::within(road, deadline).await? {
        return Ok(lost);
    }
    sequences::carry_over(road, deadline).await
}
