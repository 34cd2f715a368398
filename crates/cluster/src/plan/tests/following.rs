//! Who may follow whom, and the streams that connect anew.

use super::*;
use crate::follower::{Stream, StreamFault};

#[test]
fn nodes_follow_each_other_by_roles_of_their_own_and_nobody_else_does() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1), ("pg3", 1)]);
    let mut truth = living(&declared);
    let role =
        |truth: &Truth, name: &str| follower_role(&node(name), &truth.nodes[&node(name)].identity);
    let role2 = role(&truth, "pg2");
    let followers = |truth: &mut Truth, name: &str| {
        truth.nodes.get_mut(&node(name)).unwrap().followers.take().unwrap()
    };
    // Not for us to know, as it was not the program's to change.
    followers(&mut truth, "pg2");
    let mut at_pg1 = followers(&mut truth, "pg1");
    assert_eq!(at_pg1.len(), 2);
    at_pg1.get_mut(&role2).unwrap().sound = false;
    // One that is of another database of that server is none of ours.
    at_pg1.insert("shardid/pg9/1".into(), FollowerRole { here: true, sound: true });
    at_pg1.insert("shardid/pg9/2".into(), FollowerRole { here: false, sound: true });
    truth.nodes.get_mut(&node("pg1")).unwrap().followers = Some(at_pg1);
    let plan = plan_of(&declared, &truth).unwrap();
    assert_eq!(
        plan.steps,
        [
            Step::LetFollow { node: node("pg1"), followers: vec![(node("pg2"), role2)] },
            Step::ForgetFollowers { node: node("pg1"), roles: vec!["shardid/pg9/1".into()] },
        ]
    );
    assert_eq!(plan.notes, [Note::NotFollowed(node("pg2"))]);
}

#[test]
fn streams_are_connected_anew_where_something_is_wrong_and_a_new_secret_is_for_all() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1), ("pg3", 1)]);
    let mut truth = living(&declared);
    let stream = |name: &str, publisher: &str, fault| Stream {
        name: name.into(),
        schema: "shard_0001".into(),
        publisher: node(publisher),
        fault,
    };
    let all = |first, second, other| {
        vec![stream("a", "pg2", first), stream("b", "pg2", second), stream("c", "pg3", other)]
    };
    let connected = |truth: &Truth| -> Vec<String> {
        let steps = plan_of(&declared, truth).unwrap().steps;
        let names = |step: &Step| match step {
            Step::Connect { streams, .. } => {
                streams.iter().map(|stream| stream.name.clone()).collect::<String>()
            }
            other => format!("{other:?}"),
        };
        steps.iter().map(names).collect()
    };
    let mut look = |first, second, other| {
        truth.streams = BTreeMap::from([(node("pg1"), all(first, second, other))]);
        connected(&truth)
    };
    assert_eq!(look(None, None, None), Vec::<String>::new());
    assert_eq!(look(Some(StreamFault::Login), None, Some(StreamFault::Rights)), ["a", "c"]);
    assert_eq!(look(None, Some(StreamFault::Secret), None), ["ab"]);
    // Two databases of one server.
    let system = truth.nodes[&node("pg2")].identity.system_identifier;
    let pg3 = &mut truth.nodes.get_mut(&node("pg3")).unwrap().identity;
    *pg3 = Identity { system_identifier: system, database: "app3".into() };
    truth.catalog.nodes.get_mut(&node("pg3")).unwrap().identity = pg3.clone();
    let at_pg1 = follower_role(&node("pg3"), pg3);
    for name in ["pg1", "pg2"] {
        let seen = truth.nodes.get_mut(&node(name)).unwrap();
        let ready = FollowerRole { here: true, sound: true };
        seen.followers.as_mut().unwrap().retain(|role, _| !role.starts_with("shardid/pg3/"));
        seen.followers.as_mut().unwrap().insert(at_pg1.clone(), ready);
    }
    truth.streams = BTreeMap::from([(node("pg1"), all(None, Some(StreamFault::Secret), None))]);
    assert_eq!(connected(&truth), ["abc"]);
}

/// A secret that is in a dump opened the other node for good, once what it was for had ended.
#[test]
fn new_secrets_leave_no_role_with_an_old_one_and_break_no_stream() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1), ("pg3", 1)]);
    let mut truth = living(&declared);
    let stream = Stream {
        name: "a".into(),
        schema: "shard_0001".into(),
        publisher: node("pg2"),
        fault: None,
    };
    truth.streams = BTreeMap::from([(node("pg1"), vec![stream])]);
    // Another database of the server that is followed: the role is one.
    let system = truth.nodes[&node("pg2")].identity.system_identifier;
    let pg3 = &mut truth.nodes.get_mut(&node("pg3")).unwrap().identity;
    *pg3 = Identity { system_identifier: system, database: "app3".into() };
    let role = |of: &str| follower_role(&node(of), &truth.nodes[&node(of)].identity);
    let (first, second, third) = (role("pg1"), role("pg2"), role("pg3"));
    let ready = FollowerRole { here: true, sound: true };
    for (name, roles) in
        [("pg1", [&second, &third]), ("pg2", [&first, &third]), ("pg3", [&first, &second])]
    {
        let known = roles.into_iter().map(|role| (role.clone(), ready)).collect();
        truth.nodes.get_mut(&node(name)).unwrap().followers = Some(known);
    }
    truth.renew_secrets();
    let sound = |node: &NodeName| -> Vec<String> {
        let known = truth.nodes[node].followers.iter().flatten();
        known.filter(|(_, it)| it.sound).map(|(role, _)| role.clone()).collect()
    };
    assert_eq!(sound(&node("pg1")), Vec::<String>::new());
    assert_eq!(sound(&node("pg2")), std::slice::from_ref(&first));
    assert_eq!(sound(&node("pg3")), [first]);
    assert_eq!(truth.streams[&node("pg1")][0].fault, Some(StreamFault::Secret));
}
