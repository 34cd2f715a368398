//! Nodes that get another name.

use super::*;
use crate::rename::Rename;

/// The file calls pg2 by another name.
fn db2() -> (Declared, Truth) {
    let before = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&before);
    let pg2 = truth.nodes.remove(&node("pg2")).unwrap();
    truth.nodes.insert(node("db2"), pg2);
    (declared(8, &[("pg1", 1), ("db2", 1)]), truth)
}

fn look(declared: &Declared, truth: &mut Truth) {
    truth.find_renames(|name| declared.node(name).is_some());
}

#[test]
fn a_node_is_renamed_in_the_catalog_then_on_all_nodes_and_then_nothing() {
    let (declared, mut truth) = db2();
    look(&declared, &mut truth);
    let plan = take_all(&declared, &mut truth);
    let rename = Rename { from: node("pg2"), to: node("db2") };
    assert!(matches!(&plan.steps[0], Step::RenameNode { rename: first, version, .. }
        if *first == rename && *version == MapVersion(2)));
    assert_eq!(plan.map.on(&node("db2")).to_string(), "4-7");
    let told = |step: &Step| match step {
        Step::TellNode { node, was, shards, .. } => Some(format!("{node} was {was:?}: {shards}")),
        _ => None,
    };
    let told: Vec<_> = plan.steps.iter().filter_map(told).collect();
    assert_eq!(told, ["pg1 was None: 4-7", "db2 was Some(\"pg2\"): "]);
    look(&declared, &mut truth);
    assert_eq!(plan_of(&declared, &truth).unwrap().steps, []);
}

#[test]
fn a_renaming_may_be_cut_after_each_step() {
    let (declared, mut truth) = db2();
    look(&declared, &mut truth);
    let plan = plan_of(&declared, &truth).unwrap();
    for cut in 0..plan.steps.len() {
        let (_, mut truth) = db2();
        look(&declared, &mut truth);
        for step in &plan.steps[..cut] {
            take(&declared, &mut truth, step);
        }
        // Another program looks: the catalog has what was done of it.
        if cut > 0 {
            look(&declared, &mut truth);
        }
        take_all(&declared, &mut truth);
        assert_eq!(plan_of(&declared, &truth).unwrap().steps, [], "after {cut} steps");
        assert_eq!(truth.nodes[&node("db2")].member.as_ref().unwrap().node, "db2");
    }
}

#[test]
fn a_node_that_an_unfinished_move_works_on_keeps_its_name() {
    let (declared, mut truth) = db2();
    truth.catalog.at_work.insert(node("pg2"), vec![7]);
    look(&declared, &mut truth);
    assert_eq!(refused(&declared, &truth), "node pg2 cannot become db2 now: move 7 needs it");
}

#[test]
fn a_name_that_goes_to_another_database_is_no_renaming() {
    let (_, mut truth) = db2();
    // The old name is there still, for something else.
    let declared = declared(8, &[("pg1", 1), ("pg2", 1), ("db2", 1)]);
    truth.nodes.insert(node("pg2"), empty_server(9));
    look(&declared, &mut truth);
    assert_eq!(truth.catalog.renames, []);
    let words = refused(&declared, &truth);
    assert!(words.contains("node pg2 is another database than before"), "{words}");
    assert!(words.contains("the database at db2's address is node pg2"), "{words}");
}
