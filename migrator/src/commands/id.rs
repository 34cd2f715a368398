//! `shardid id`: ids by hand.

use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use shardid_ids::{DEFAULT_LAYOUT, Layout};

use crate::cli::{IdAt, IdDecode, IdNext, LayoutArg};
use crate::failure::Failure;
use crate::file::{self, ClusterFile};
use crate::postgres::ids;
use crate::stdout::{print, print_json};
use crate::talk;
use crate::view::table::{Column, Table};
use crate::view::time;

pub(super) async fn next(file: Option<&Path>, args: &IdNext) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let node = ids::home(&file, args.shard).await?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut write = |id| {
        writeln!(out, "{id}")
            .map_err(|error| Failure::new(format!("could not write to stdout: {error}")))
    };
    ids::next(&node, file.address(&node)?, args.shard, args.count, &mut write).await?;
    out.flush().map_err(|error| Failure::new(format!("could not write to stdout: {error}")))
}

pub(super) async fn decode(file: Option<&Path>, args: &IdDecode) -> Result<(), Failure> {
    let (name, layout) = layout(file, &args.layout).await?;
    let mut rows = Vec::new();
    let mut failures = Vec::new();
    for text in &args.ids {
        match id(text).and_then(|id| Ok((id, layout.decode(id).map_err(|e| e.to_string())?))) {
            Ok((id, parts)) => rows.push((id, time(layout.time_us(parts.tick)), parts)),
            Err(why) => {
                failures.push(Failure::new(format!("{text} is no id of layout {name}: {why}")))
            }
        }
    }
    if args.json {
        let rows = rows.iter().map(|(id, time, parts)| {
            json!({"id": id.to_string(), "layout": name, "time": time, "shard": parts.shard, "slot": parts.slot})
        });
        print_json(&rows.collect())?;
    } else if !rows.is_empty() {
        let mut table = Table::new([
            Column::right("ID"),
            Column::left("TIME"),
            Column::right("SHARD"),
            Column::right("SLOT"),
        ]);
        for (id, time, parts) in &rows {
            table.row([
                id.to_string(),
                time.clone(),
                parts.shard.to_string(),
                parts.slot.to_string(),
            ]);
        }
        print(&table.to_string())?;
    }
    let failure = Failure::all(failures);
    failure.map_or(Ok(()), |f| {
        Err(f.hint(
            "name the layout with `--layout`, or ask the server by its function id_explain()",
        ))
    })
}

pub(super) async fn at(file: Option<&Path>, args: &IdAt) -> Result<(), Failure> {
    let (name, layout) = layout(file, &args.layout).await?;
    let instant = instant(&args.time, &jiff::Zoned::now())?;
    let id = layout.id_at(instant.as_microsecond()).map_err(|error| {
        Failure::new(format!("{}: {error}", args.time)).hint(format!(
            "layout {name} lasts from {} to {}",
            time(layout.epoch_us()),
            time(layout.ends_at_us())
        ))
    })?;
    talk::line(format_args!("# from {} on, layout {name}", time(instant.as_microsecond())));
    print(&format!("{id}\n"))
}

/// An id, as a number or in its text form.
fn id(text: &str) -> Result<i64, String> {
    // Thirteen digits may be either: a number begins with no zero, and what
    // begins with another digit is a number.
    let as_text = || shardid_ids::decode_text(text).map_err(|error| error.to_string());
    match text.parse::<i64>() {
        Ok(_) if text.len() == shardid_ids::TEXT_LENGTH && text.starts_with('0') => as_text(),
        Ok(number) => Ok(number),
        Err(_) if text.len() == shardid_ids::TEXT_LENGTH => as_text(),
        Err(error) => Err(error.to_string()),
    }
}

/// The layout that is named, or the cluster's, or the default.
async fn layout(file: Option<&Path>, named: &LayoutArg) -> Result<(String, Layout), Failure> {
    let loaded = match &named.layout {
        Some(name) if shardid_ids::builtin(name).is_some() => None,
        _ if file::exists(file) => Some(ClusterFile::load(file)?),
        _ => None,
    };
    let declared = loaded.as_ref().map(|file| file.declared.layout.to_string());
    let name = named.layout.clone().or(declared).unwrap_or_else(|| DEFAULT_LAYOUT.to_owned());
    let layout = match (shardid_ids::builtin(&name), &loaded) {
        (Some(layout), _) => layout,
        (None, Some(file)) => ids::layout(file, &name).await?,
        (None, None) => return Err(ids::unknown_layout(&name)),
    };
    Ok((name, layout))
}

/// An instant as people write them; what has no zone is in that of `now`.
fn instant(text: &str, now: &jiff::Zoned) -> Result<Timestamp, Failure> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now.timestamp());
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(timestamp);
    }
    let local = text.parse::<jiff::civil::DateTime>().ok();
    if let Some(instant) = local.and_then(|local| local.to_zoned(now.time_zone().clone()).ok()) {
        return Ok(instant.timestamp());
    }
    let span = text.parse::<jiff::Span>().ok();
    if let Some(instant) = span.and_then(|span| now.checked_add(span).ok()) {
        return Ok(instant.timestamp());
    }
    Err(Failure::usage(format!("{text:?} is not a time")).hint(
        "as in 2026-11-21, 2026-11-21T08:30:00Z, \"2026-11-21 08:30\", now, or \"2 hours ago\"",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_write_them() {
        let now: jiff::Zoned = "2026-11-21T12:00:00+01:00[Europe/Berlin]".parse().unwrap();
        let shown = |text| instant(text, &now).map(|at| at.to_string()).unwrap_or_default();
        assert_eq!(shown("2026-11-21T08:30:00Z"), "2026-11-21T08:30:00Z");
        assert_eq!(shown("2026-11-21 08:30"), "2026-11-21T07:30:00Z");
        assert_eq!(shown("2026-11-21"), "2026-11-20T23:00:00Z");
        assert_eq!(shown("now"), "2026-11-21T11:00:00Z");
        assert_eq!(shown("2 hours ago"), "2026-11-21T09:00:00Z");
        assert_eq!(shown("1 day ago"), "2026-11-20T11:00:00Z");
        assert_eq!(shown("yesterday"), "");
    }

    #[test]
    fn ids_read_as_numbers_and_as_text() {
        assert_eq!(id("0000000000010"), Ok(32));
        assert_eq!(id("1000000000010"), Ok(1_000_000_000_010));
        assert_eq!(id("000000000001Z"), Ok(63));
        assert_eq!(id("-5"), Ok(-5));
        assert!(id("12a").is_err());
        assert!(id("99999999999999999999").is_err());
    }
}
