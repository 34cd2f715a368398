//! What definitions call: they travel as texts, and by such a text another function may fit better than the one which a
//! definition is bound to.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::AssertSqlSafe;

use super::context::MoveContext;
use super::move_session::MoveSession;
use super::problem::Problem;
use super::same::major_of;
use crate::failure::Failure;
use crate::postgres::sql;

/// What definitions call, by what they are and where in them.
type Calls = BTreeMap<Place, String>;

/// A definition and a place in it; without a place each thing that it calls is a key of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    what: String,
    place: String,
    calls: Option<String>,
}

/// Refuses to leave definitions on the target that call something else than those of the source; before all of them are
/// made, of those that are.
pub(super) async fn check(
    context: &mut MoveContext<'_>,
    are_all_made: bool,
) -> Result<(), Failure> {
    let schema = &context.record.schema;
    let (here, there) =
        tokio::try_join!(calls(&mut context.source, schema), calls(&mut context.target, schema))?;
    // Another major version may have another form of the same expression.
    let by_place = major_of(&context.source) == major_of(&context.target);
    let here = if are_all_made { here } else { made(here, &there) };
    match difference(&here, &there, by_place) {
        Some(differs) => Err(bound_anew(context, &differs)),
        None => Ok(()),
    }
}

/// How a text is marked that does not say which operator it calls.
const UNNAMED: &str = "unnamed";

/// Definitions that call an operator which no text names, as in `CASE x WHEN`. Such a text is read by a session that finds
/// nothing but what is PostgreSQL's: whoever may make things where it looked further could have its code run.
pub(super) async fn unnamed(
    source: &mut MoveSession,
    schema: &str,
) -> Result<Vec<Problem>, Failure> {
    let problem = |(place, calls): (Place, String)| {
        let calls = calls.replace("pg_catalog.", "");
        let (name, _) =
            calls.trim_start_matches("operator ").split_once('(').unwrap_or((&calls, ""));
        (
            format!(
                "{} calls {calls}, and its text does not say so (CASE x WHEN, NULLIF, IS DISTINCT FROM, USING, IN of a subquery, rows): it would call another one where it goes, as with pg_dump",
                place.what
            ),
            format!(
                "write it in a form that has an operator, which is `a OPERATOR({name}) b` as text: CASE WHEN a = b for CASE a WHEN b or NULLIF, ON for USING, EXISTS for IN"
            ),
        )
    };
    let calls = calls(source, schema).await?;
    Ok(calls.into_iter().filter(|(place, _)| place.place == UNNAMED).map(problem).collect())
}

async fn calls(server: &mut MoveSession, schema: &str) -> Result<Calls, Failure> {
    let over: Vec<String> = server.column(sqlx::query_scalar(sql!("move/carry/calls.sql"))).await?;
    let over = over.concat();
    let query = AssertSqlSafe(format!("{}{over}", sql!("move/closure.sql")));
    let rows: Vec<(String, String, String)> =
        server.rows(sqlx::query_as(query).bind(schema)).await?;
    let of = |(what, place, calls): (String, String, String)| {
        let all = (place.is_empty() || place == UNNAMED).then(|| calls.clone());
        (Place { what, place, calls: all }, calls)
    };
    Ok(rows.into_iter().map(of).collect())
}

/// What a definition calls on the source, and on the target.
#[derive(Debug, PartialEq, Eq)]
struct Differs {
    what: String,
    here: Option<String>,
    there: Option<String>,
}

/// What definitions of the source call that are on the target.
fn made(mut here: Calls, there: &Calls) -> Calls {
    let made: BTreeSet<&str> = there.keys().map(|place| place.what.as_str()).collect();
    here.retain(|place, _| made.contains(place.what.as_str()));
    here
}

/// The first difference, if there is one.
fn difference(here: &Calls, there: &Calls, by_place: bool) -> Option<Differs> {
    let counts = |place: &&Place| place.place.is_empty() || by_place && place.place != UNNAMED;
    // What is called there alone says most, and a place more than that something is not called.
    let mut differ: Vec<Differs> = here
        .keys()
        .chain(there.keys().filter(|place| !here.contains_key(place)))
        .filter(counts)
        .filter(|place| here.get(place) != there.get(place))
        .map(|place| Differs {
            what: place.what.clone(),
            here: here.get(place).cloned(),
            there: there.get(place).cloned(),
        })
        .collect();
    differ.sort_by_key(|differs| (differs.there.is_none(), differs.here.is_some()));
    differ.into_iter().next()
}

fn bound_anew(context: &MoveContext<'_>, differs: &Differs) -> Failure {
    let what = &differs.what;
    let bare = |calls: &String| calls.replace("pg_catalog.", "");
    let text = match (differs.here.as_ref().map(bare), differs.there.as_ref().map(bare)) {
        (None, Some(there)) => {
            format!("{what} would call {there} here, and does not where the shard is")
        }
        (Some(here), Some(there)) => {
            format!(
                "{what} would call {there} here in a place where it calls {here} where the shard is"
            )
        }
        (here, None) => format!(
            "{what} calls {} where the shard is, and would call something else here",
            here.unwrap_or_default()
        ),
    };
    let failure = Failure::new(text).at(format!("node {}", context.target.node));
    if differs.there.is_none() {
        return failure
            .detail("What its text does not name, as the operator of CASE x WHEN, USING or NULLIF, is found there by its name and types.")
            .hint(format!(
                "write that with the operator named, as OPERATOR(public.=), where the shard is; then `shardid abort {}`, and move it again",
                context.record.id
            ));
    }
    failure.detail("By its text that fits better than what it calls, which has the same name.").hint(
        format!(
            "give one of the two another name where the shard is; then `shardid abort {}`, and move it again",
            context.record.id
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{Calls, Differs, Place, difference, made};

    fn calls(rows: &[(&str, &str, &str)]) -> Calls {
        let of = |&(what, place, calls): &(&str, &str, &str)| {
            let all = place.is_empty().then(|| calls.to_owned());
            (Place { what: what.to_owned(), place: place.to_owned(), calls: all }, calls.to_owned())
        };
        rows.iter().map(of).collect()
    }

    fn differs(what: &str, here: &str, there: &str) -> Option<Differs> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some(Differs { what: what.to_owned(), here: some(here), there: some(there) })
    }

    #[test]
    fn a_call_counts_with_its_place_and_none_may_be_missing() {
        let one = [("p", "", "f"), ("p", "", "g"), ("p", "qual 1", "f"), ("p", "qual 2", "g")];
        let here = calls(&one);
        assert_eq!(difference(&here, &here, true), None);

        let swapped = calls(&[one[0], one[1], ("p", "qual 1", "g"), one[3]]);
        assert_eq!(difference(&here, &swapped, true), differs("p", "f", "g"));
        assert_eq!(difference(&here, &swapped, false), None);

        let less = calls(&[one[0], one[2]]);
        assert_eq!(difference(&here, &less, true), differs("p", "g", ""));
        let more = calls(&[&one[..], &[("p", "", "h"), ("p", "qual 3", "h")]].concat());
        assert_eq!(difference(&here, &more, true), differs("p", "", "h"));

        // What is still to come is not missing.
        let none = Calls::new();
        assert_eq!(difference(&made(here.clone(), &none), &none, true), None);
        assert_eq!(difference(&here, &none, true), differs("p", "f", ""));
        assert_eq!(difference(&made(here, &less), &less, true), differs("p", "g", ""));
    }
}
