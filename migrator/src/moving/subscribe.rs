//! Having the target follow the source, with all rows that are there: copied by PostgreSQL's own workers, or by sessions of the
//! program before the stream begins.

use std::time::Duration;

use shardid_cluster::LeftoverKind;

use super::context::MoveContext;
use super::exported::{self, Exported, Made};
use super::home::check_name;
use super::login::{self, NewStream};
use super::move_session::MoveSession;
use super::{origin, parts, row_guard, schema, stream};
use crate::cuts;
use crate::failure::Failure;
use crate::postgres::descent::SlotFault;
use crate::postgres::sql;

pub(super) async fn subscribe(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let name = context.record.stream();
    context.leave_on_source(LeftoverKind::Slot, &name).await?;
    // A new slot would begin behind what was written since the old one was lost.
    let number = sqlx::query_scalar::<_, i64>(sql!("move/stream/number.sql")).bind(&name);
    let is_subscribed = !context.target.column(number).await?.is_empty();
    let fault = origin::slot_fault(&mut context.source, &name).await?;
    if let Some(fault) = fault.filter(|_| is_subscribed) {
        let node = context.source.node.clone();
        return Err(origin::cannot_follow(context, &node, &name, fault).await);
    }
    let most = context.options.stall_max;
    let is_by_parts = context.options.is_by_parts();
    if is_subscribed {
        stream::make_slot(&mut context.source, &name, most).await?;
    } else {
        stream::keep_name(&mut context.source, &context.record).await?;
        // From here on it keeps its name, and may have got it since all of it was looked at.
        check_name(&mut context.source, &context.record).await?;
        // One that is there has not waited for who may have changed something and not committed.
        let is_kept_anew = stream::keep_kinds(context, &name).await?;
        // Nobody sees any more what there was when a slot of an earlier program began.
        parts::empty(context).await?;
        if is_kept_anew || is_by_parts || fault == Some(SlotFault::Lost) {
            stream::remove_slot(&mut context.source, &name).await?;
        }
        cuts::at(format_args!("subscribe/kept"));
        let exported = match is_by_parts {
            true => Some(make_exported(&mut context.source, &name, most).await?),
            false => stream::make_slot(&mut context.source, &name, most).await.map(|()| None)?,
        };
        if stream::keep_kinds(context, &name).await? {
            stream::let_kinds(&mut context.source, &name).await?;
            return Err(kinds_changed(context));
        }
        // The slot is of this server, and not of one that takes over from it.
        origin::note(context).await?;
        if let Some(exported) = exported {
            parts::copy(context, exported).await?;
        }
        row_guard::make(context).await?;
        schema::make_identity(context).await?;
    }
    context.leave_on_target(LeftoverKind::Subscription, &name).await?;
    let back = row_guard::give_back(&mut context.target, &context.record).await?;
    back.into_iter().for_each(|warning| context.say(warning));
    let stream = NewStream {
        name: &name,
        schema: &context.record.schema,
        copy: !is_by_parts,
        enabled: true,
        unguarded: format!("`shardid resume {}`", context.record.id),
    };
    login::subscribe(&mut context.target, &mut context.source, &stream).await
}

/// Makes a slot that keeps what there is when it begins.
async fn make_exported(
    server: &mut MoveSession,
    name: &str,
    most: Duration,
) -> Result<Exported, Failure> {
    match exported::make_slot(server, name, most).await? {
        Made::Done(exported) => Ok(exported),
        Made::TimedOut => {
            let failure = stream::held_up(server, None).await?;
            stream::remove_slot(server, name).await?;
            Err(failure)
        }
    }
}

fn kinds_changed(context: &MoveContext<'_>) -> Failure {
    let (id, schema) = (context.record.id, &context.record.schema);
    let (shard, to) = (context.record.shard, &context.target.node);
    Failure::new(format!(
        "schema {schema} was changed during the move: a view, or what else is no table"
    ))
    .at(format!("node {}", context.source.node))
    .hint(format!("`shardid abort {id}`, then `shardid move {shard} --to {to}` again"))
}
