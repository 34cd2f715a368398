//! Who may do what with a shard's objects on both nodes. Grants travel with the objects; by them whoever is a member of a
//! role has its rights, and of that no object of a schema knows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use shardid_cluster::{FOLLOWER_PREFIX, NodeName, is_own_role};

use super::move_session::MoveSession;
use super::problem::Problem;
use super::same::major_of;
use crate::failure::Failure;
use crate::postgres::sql;

/// How many are named.
const NAMED_MAX: usize = 20;

/// What owners have granted: on what, which privilege, and to whom (none: PUBLIC).
type Granted = (Vec<String>, Vec<String>, Vec<Option<String>>);

/// A role, quoted as in SQL; on what; and which privilege.
type Key = (String, String, String);

/// How a role has a privilege.
#[derive(Clone, PartialEq, Eq)]
struct Held {
    /// Of itself; or else by SET ROLE alone, or as who may grant the role.
    has: bool,
    /// As one of this role, which may be itself.
    by: String,
}

/// What roles have on a server, by the grants on the objects of a schema.
struct Rights {
    held: BTreeMap<Key, Held>,
    /// All roles but superusers.
    roles: BTreeSet<String>,
}

/// What no owner of an object grants: to pass by policies, to be a superuser, and to grant a role to others.
const BYPASSRLS: &str = "BYPASSRLS";
const SUPERUSER: &str = "SUPERUSER";
const ADMIN: &str = "ADMIN OPTION";
const SPECIAL: [&str; 3] = [BYPASSRLS, SUPERUSER, ADMIN];

/// What a restrictive policy is for a role: it takes rows from it.
const RESTRICTION: &str = "RESTRICTION";

/// A role that has a right on one of the two servers alone.
struct Alone {
    role: String,
    by: String,
    /// What it has, the first of it.
    first: (String, String),
    more: usize,
    has: bool,
    is_lost: bool,
}

/// Who loses a right of a copy by going from the one server to the other, or gains one, and what is to be done. Of a role
/// that only one of them has, or that is a superuser on one, nothing is said.
pub(super) async fn other_rights(
    from: &mut MoveSession,
    to: &mut MoveSession,
    schema: &str,
) -> Result<Vec<Problem>, Failure> {
    let query = sqlx::query_as(sql!("move/closure.sql", "move/rights/granted.sql")).bind(schema);
    let granted: Vec<(String, String, Option<String>)> = from.rows(query).await?;
    let mut lists: Granted = Default::default();
    let all_may = |(_, privilege, role): &(String, String, Option<String>)| {
        role.is_none() && ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(&privilege.as_str())
    };
    let by_all = granted.iter().any(all_may);
    for (what, privilege, role) in granted {
        lists.0.push(what);
        lists.1.push(privilege);
        lists.2.push(role);
    }
    let has_policies = sqlx::query_scalar(sql!("move/rights/has_row_security.sql")).bind(schema);
    let has_policies = from.column::<bool>(has_policies).await? == [true];
    let flags = (has_policies, major_of(from) < 16 && major_of(to) < 16);
    let (here, there) = tokio::try_join!(rights(from, &lists, flags), rights(to, &lists, flags))?;
    let mut problems = Vec::new();
    let mut differing = differing(&here, &there);
    // Who has no right of the shard passes by nothing.
    let has_right = |role: &String| {
        let mut held = here.held.keys().chain(there.held.keys());
        by_all || held.any(|key| key.0 == *role && !SPECIAL.contains(&key.2.as_str()))
    };
    differing.retain(|alone| alone.first.0 != BYPASSRLS || has_right(&alone.role));
    if has_policies {
        let has_right = |role: &String| {
            here.roles.contains(role) && there.roles.contains(role) && has_right(role)
        };
        problems.extend(other_selves(from, to, has_right).await?);
    }
    for alone in differing.iter().take(NAMED_MAX) {
        let (with, without) =
            if alone.is_lost { (&mut *from, &mut *to) } else { (&mut *to, &mut *from) };
        let one = memberships(with, vec![alone.role.clone()]).await?;
        let way = path(&one, &alone.role, &alone.by, alone.has);
        let own = [&alone.role, &alone.by]
            .into_iter()
            .chain(way.iter().map(|(_, of)| of))
            .find(|role| is_own(role))
            .cloned();
        if let Some(role) = own {
            let hint = match way.iter().find(|(_, of)| *of == role) {
                Some((member, _)) => format!(
                    "that role is the program's own: have role {member} be no member of it on {}",
                    with.node
                ),
                None => not_made_by_us(&role, with, without).await?,
            };
            problems.push((said(alone), hint));
            continue;
        }
        let names = way.iter().flat_map(|(member, of)| [member, of]).cloned().collect();
        let other = memberships(without, names).await?;
        problems.push((said(alone), alone.hint(way, (&one, &other), (&with.node, &without.node))));
    }
    if let more @ 1.. = differing.len().saturating_sub(NAMED_MAX) {
        problems.push((
            format!("{more} more times a role has a right of the shard on one of the two nodes alone"),
            "when those that are named have it on both, or on none, `shardid move … --dry-run` names the next".into(),
        ));
    }
    Ok(problems)
}

/// Who may be another role by SET ROLE on one of the servers alone, where one of the two has a right of the shard.
async fn other_selves(
    from: &mut MoveSession,
    to: &mut MoveSession,
    has_right: impl Fn(&String) -> bool,
) -> Result<Vec<Problem>, Failure> {
    let all = || sqlx::query_as(sql!("move/rights/set_role.sql"));
    let here: BTreeSet<Edge> = from.rows(all()).await?.into_iter().collect();
    let there: BTreeSet<Edge> = to.rows(all()).await?.into_iter().collect();
    let mut problems = Vec::new();
    for (edges, where_) in [
        (here.difference(&there), "where the shard is, and not here"),
        (there.difference(&here), "here, and not where the shard is"),
    ] {
        for (role, of) in edges.filter(|(role, of)| has_right(role) && has_right(of)) {
            problems.push((
                format!("role {role} may be role {of} by SET ROLE {where_}, and policies of the shard go by the role that one is"),
                "have that be the same on both, once you have seen what these roles may do there".into(),
            ));
        }
    }
    if let more @ 1.. = problems.len().saturating_sub(NAMED_MAX) {
        problems.truncate(NAMED_MAX);
        problems.push((
            format!("{more} more times a role may be another one on one of the two nodes alone"),
            "when those that are named may on both, or on none, `shardid move … --dry-run` names the next".into(),
        ));
    }
    Ok(problems)
}

/// Whether a role, quoted, has the name of one of the program's own.
fn is_own(role: &str) -> bool {
    is_own_role(role.trim_matches('"'))
}

/// What is to be done where such a role has other rights on one node than on the other. To give one what it lacks would give
/// it to whoever has made it.
async fn not_made_by_us(
    role: &str,
    one: &mut MoveSession,
    other: &mut MoveSession,
) -> Result<String, Failure> {
    let mut by_others = Vec::new();
    for server in [one, other] {
        let query = sqlx::query_scalar(sql!("move/rights/own.sql")).bind(role.to_owned());
        if server.column::<bool>(query.bind(FOLLOWER_PREFIX)).await? == [false] {
            by_others.push(server.node.to_string());
        }
    }
    Ok(match &by_others[..] {
        [] => "a role of that name is the program's own: `shardid apply` makes it as it is to be"
            .into(),
        nodes => format!(
            "a role of that name is the program's own, and that on {} is not: `ALTER ROLE {role} RENAME TO ...;` there, then `shardid apply`",
            nodes.join(" and on ")
        ),
    })
}

async fn rights(
    server: &mut MoveSession,
    granted: &Granted,
    (has_policies, grants_all): (bool, bool),
) -> Result<Rights, Failure> {
    let query = sqlx::query_as(sql!("move/rights/had.sql"))
        .bind(granted.0.clone())
        .bind(granted.1.clone())
        .bind(granted.2.clone())
        .bind(has_policies)
        .bind(grants_all);
    let rows: Vec<(String, String, String, bool, String)> = server.rows(query).await?;
    let held = rows
        .into_iter()
        .map(|(role, what, privilege, has, by)| ((role, what, privilege), Held { has, by }));
    let held = held.collect();
    let roles: Vec<String> =
        server.column(sqlx::query_scalar(sql!("move/rights/roles.sql"))).await?;
    Ok(Rights { held, roles: roles.into_iter().collect() })
}

/// What roles of both servers have on one of them alone, each role once for each that it has it by.
fn differing(here: &Rights, there: &Rights) -> Vec<Alone> {
    let mut found: Vec<Alone> = Vec::new();
    for (one, other, is_lost) in [(here, there, true), (there, here, false)] {
        for ((role, what, privilege), held) in &one.held {
            let key = (role.clone(), what.clone(), privilege.clone());
            // Who has it has more than who may take it.
            let is_less = other.held.get(&key).is_none_or(|other| held.has && !other.has);
            if !is_less || !other.roles.contains(role) || !one.roles.contains(role) {
                continue;
            }
            let same = |alone: &&mut Alone| {
                alone.is_lost == is_lost
                    && alone.role == *role
                    && alone.by == held.by
                    && alone.has == held.has
                    && ![privilege, &alone.first.0].iter().any(|it| SPECIAL.contains(&it.as_str()))
            };
            match found.iter_mut().find(same) {
                Some(alone) => alone.more += 1,
                None => found.push(Alone {
                    role: role.clone(),
                    by: held.by.clone(),
                    first: (privilege.clone(), what.clone()),
                    more: 0,
                    has: held.has,
                    is_lost,
                }),
            }
        }
    }
    found
}

fn said(alone: &Alone) -> String {
    let Alone { role, by, first: (privilege, what), more, has, is_lost } = alone;
    let where_ = match is_lost {
        true => "where the shard is, and not here",
        false => "here, and not where the shard is",
    };
    let as_member = match role == by {
        true => String::new(),
        false => format!(" as a member of role {by}"),
    };
    match (privilege.as_str(), has) {
        (BYPASSRLS, true) => {
            format!("role {role} passes by the policies of the shard (BYPASSRLS) {where_}")
        }
        (BYPASSRLS, false) => format!(
            "role {role} may take by SET ROLE or a GRANT to itself that it passes by the policies of the shard (BYPASSRLS){as_member} {where_}"
        ),
        (RESTRICTION, true) => {
            format!("role {role} sees fewer rows by {what}{as_member} {where_}")
        }
        (SUPERUSER, _) => {
            format!(
                "role {role} may become a superuser, by SET ROLE or a GRANT to itself,{as_member} {where_}"
            )
        }
        (ADMIN, _) => {
            format!(
                "role {role} may grant {what}, which has rights of the shard, to others (ADMIN OPTION) {where_}"
            )
        }
        _ => {
            let has = if *has { "has" } else { "may take by SET ROLE or a GRANT to itself" };
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("role {role} {has} {privilege} on {what}{more}{as_member} {where_}")
        }
    }
}

/// A member, and of which role it is one.
type Edge = (String, String);

/// Memberships, and whether the member inherits.
type Memberships = BTreeMap<Edge, bool>;

/// The memberships of some roles, and of all roles above them.
async fn memberships(server: &mut MoveSession, roles: Vec<String>) -> Result<Memberships, Failure> {
    let query = sqlx::query_as(sql!("move/rights/memberships.sql")).bind(roles);
    let rows: Vec<(String, String, bool)> = server.rows(query).await?;
    Ok(rows.into_iter().map(|(member, of, inherits)| ((member, of), inherits)).collect())
}

/// The shortest way from a role to another one, by memberships that inherit where it has to.
fn path(memberships: &Memberships, from: &str, to: &str, inherits: bool) -> Vec<Edge> {
    let mut ways: VecDeque<(String, Vec<Edge>)> = VecDeque::from([(from.to_owned(), Vec::new())]);
    let mut seen = BTreeSet::from([from.to_owned()]);
    while let Some((role, way)) = ways.pop_front() {
        if role == to {
            return way;
        }
        for (edge, _) in
            memberships.iter().filter(|(edge, has)| edge.0 == role && (**has || !inherits))
        {
            if seen.insert(edge.1.clone()) {
                let longer = way.iter().cloned().chain([edge.clone()]).collect();
                ways.push_back((edge.1.clone(), longer));
            }
        }
    }
    Vec::new()
}

impl Alone {
    /// What is not the same on the second node, and is to be. No statement says how: one that gives may give more than this, as a role may
    /// be more on one node than on the other, and one that takes away may give rows, where a policy restricts whoever is a member.
    fn hint(
        &self,
        way: Vec<Edge>,
        (one, other): (&Memberships, &Memberships),
        (with, without): (&NodeName, &NodeName),
    ) -> String {
        let Self { role, by, first: (privilege, _), .. } = self;
        let mut lacks = Vec::new();
        for edge in way {
            let (role, group) = &edge;
            match other.get(&edge) {
                None => {
                    lacks.push(format!("on {without} role {role} is no member of role {group}"))
                }
                Some(false) if self.has && one.get(&edge) == Some(&true) => {
                    lacks.push(format!(
                        "on {without} role {role} does not inherit from role {group}"
                    ));
                }
                Some(_) => {}
            }
        }
        let what = match (privilege.as_str(), lacks.is_empty()) {
            (ADMIN, _) => {
                format!(
                    "role {role} is a member with ADMIN OPTION on {with} alone, by itself or by another role"
                )
            }
            (BYPASSRLS, _) if self.has => format!("role {role} has BYPASSRLS on {with} alone"),
            (_, false) => lacks.join(", and "),
            // As of who owns the database, may not SET ROLE to it, or makes roles.
            (_, true) => format!(
                "role {role} is not as role {by} in the same way on {with} and on {without}: as a member, the owner of the database, or one that makes roles (CREATEROLE)"
            ),
        };
        format!(
            "{what}: have that be the same on both, once you have seen what these roles may do there, and which policies are about them; `\\drg` of psql, or pg_auth_members, shows memberships"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use shardid_cluster::NodeName;

    use super::{Alone, Memberships, path};

    fn memberships(edges: &[(&str, &str, bool)]) -> Memberships {
        let of = |&(member, of, inherits): &(&str, &str, bool)| {
            ((member.to_owned(), of.to_owned()), inherits)
        };
        edges.iter().map(of).collect::<BTreeMap<_, _>>()
    }

    #[test]
    fn a_hint_names_what_differs_and_has_no_statement() {
        let node = |name: &str| name.parse::<NodeName>().expect("it is a name");
        let (with, without) = (node("a"), node("b"));
        let alone = Alone {
            role: "r".into(),
            by: "g".into(),
            first: (String::new(), String::new()),
            more: 0,
            has: true,
            is_lost: true,
        };
        let one =
            memberships(&[("r", "m", true), ("m", "g", true), ("r", "n", false), ("n", "g", true)]);
        let hint = |other: &[(&str, &str, bool)]| {
            let way = path(&one, "r", "g", true);
            let hint = alone.hint(way, (&one, &memberships(other)), (&with, &without));
            let (what, then) =
                hint.split_once(": have that be the same on both").expect("it says so");
            assert!(!hint.contains("GRANT") && !hint.contains("REVOKE"), "{hint}{then}");
            what.to_owned()
        };
        assert_eq!(hint(&[("m", "g", true)]), "on b role r is no member of role m");
        assert_eq!(
            hint(&[]),
            "on b role r is no member of role m, and on b role m is no member of role g"
        );
        assert_eq!(
            hint(&[("r", "m", false), ("m", "g", true)]),
            "on b role r does not inherit from role m"
        );
        assert!(hint(&[("r", "m", true), ("m", "g", true)]).contains("(CREATEROLE)"));
    }
}
