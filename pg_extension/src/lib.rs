//! The PostgreSQL extension `shardid`: ids from sequences that the clock advances.
//!
//! The rooms, from the outside in: [`api`] is the SQL surface written in Rust,
//! [`generator`] and [`tickets`] what a backend remembers of those it uses, [`horizon`]
//! how far ids may reach that nobody remembers, [`page`]
//! the sequence page and everything else that is unsafe, [`settings`] and
//! [`report`] what their names say. The rules themselves are in `shardid-ids`.

mod api;
mod generator;
mod horizon;
mod page;
mod report;
mod settings;
mod tickets;

pgrx::pg_module_magic!();

/// Runs when a backend loads the library: settings, the clock's base, callbacks.
#[pgrx::pg_guard]
#[allow(non_snake_case)]
extern "C-unwind" fn _PG_init() {
    page::no_backtraces();
    settings::register();
    page::watch(page::Forget {
        relation: forget,
        rights: forget_rights,
        last_id: generator::forget_last_id,
    });
    page::watch_functions(page::FunctionSettings {
        is_on: settings::functions_run_as_owner,
        on_behalf_of: settings::on_behalf_of,
    });
    page::watch_statements();
    generator::start();
}

/// Forgets who may do what.
fn forget_rights() {
    generator::forget_rights();
    tickets::forget_rights();
}

/// Forgets what is remembered of a relation, or of all.
fn forget(relation: pgrx::pg_sys::Oid) {
    generator::forget(relation);
    tickets::forget(relation);
}
