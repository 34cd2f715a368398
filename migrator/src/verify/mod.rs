//! `verify`: looking for what could repeat or lose an id, a check per file.
//!
//! A check takes the estate as it was found and returns findings; it asks more
//! of a node, if it has to, in a transaction that cannot change anything.

mod beyond;
mod clocks;
mod estate;
mod finding;
mod foreign_defaults;
mod foreign_ids;
mod guards;
mod layouts;
mod left_fences;
mod leftovers;
mod map_copies;
mod nowhere;
mod open_twice;
mod plain_defaults;
mod privileges;
mod restored;
mod rows;
mod same_database;
mod small_columns;
mod standing;
mod tickets;
mod unreachable;
mod versions;

use std::time::Duration;

pub(crate) use estate::Estate;
pub(crate) use finding::{Finding, Report};

/// Makes every check; those that read the rows of tables only with `data`, each table for so long at most.
pub(crate) async fn verify(estate: &mut Estate<'_>, data: Option<Duration>) -> Report {
    let mut report = Report::default();
    report.add("unreachable", Ok(unreachable::check(estate)));
    report.add("same-database", Ok(same_database::check(estate)));
    report.add("versions", versions::check(estate).await);
    report.add("clocks", Ok(clocks::check(estate)));
    report.add("open-twice", open_twice::check(estate).await);
    report.add("map-copies", Ok(map_copies::check(estate)));
    report.add("nowhere", nowhere::check(estate).await);
    report.add("layouts", layouts::check(estate).await);
    report.add("leftovers", leftovers::check(estate).await);
    report.add("guards", guards::check(estate).await);
    report.add("small-columns", Ok(small_columns::check(estate)));
    report.add("foreign-defaults", Ok(foreign_defaults::check(estate)));
    report.add("plain-defaults", plain_defaults::check(estate).await);
    report.add("privileges", Ok(privileges::check(estate)));
    report.add("restored", restored::check(estate).await);
    if tickets::concerns(estate) {
        report.add("tickets", tickets::check(estate).await);
    }
    if let Some(most) = data {
        report.add("beyond", beyond::check(estate, most).await);
        report.add("foreign-ids", foreign_ids::check(estate, most).await);
    }
    report
}
