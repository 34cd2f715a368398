//! Does no number of a ticket come twice, whatever happens to the programs that change its
//! servers? And does it when a rule is left out?

#[macro_use]
mod protocol;

use protocol::{is_found, is_needed, nothing_is_wrong};
use shardid_model::protocol::Protocol;
use shardid_model::tickets::{Plot, Restores, Rule, Told};

plots! { growing growing_late at_odds there_and_back }

red! {
    ceilings_first: growing without CeilingsFirst;
    raise_floor: growing without RaiseFloor;
    known_servers: at_odds without KnownServers;
    server_lock: growing_late without ServerLock;
    read_when_taken: growing without ReadWhenTaken;
}

/// The locks of the servers are enough; that the journal compares is a second bolt.
#[test]
fn compare_and_set() {
    is_found(&Plot::growing().without(&[Rule::ServerLock, Rule::CompareAndSet]), "");
    nothing_is_wrong(&Plot::growing().without(&[Rule::CompareAndSet]));
}

#[test]
fn restored_twice() {
    nothing_is_wrong(&Restores::with_the_catalog());
    nothing_is_wrong(&Restores::without_the_catalog());
    nothing_is_wrong(&Restores::with_a_catalog_elsewhere());
    is_needed(&Restores::with_the_catalog(), &[Told::AtAll]);
    is_needed(&Restores::with_the_catalog(), &[Told::First]);
    is_needed(&Restores::with_the_catalog(), &[Told::Restored]);
    is_needed(&Restores::without_the_catalog(), &[Told::Restored]);
}

#[test]
fn both_restored() {
    is_needed(&Restores::both(), &[Told::Together]);
    is_needed(&Restores::both(), &[Told::Restored]);
    nothing_is_wrong(&Restores::both());
}
