//! The catalog's tables: refinery's migrations over the one driver we have.
//!
//! refinery takes no lock and has no dry run: whoever calls [`migrate`] holds
//! the cluster's lock, and [`look`](super::look) tells beforehand what it will do.

use refinery_core::{Migration, Runner};
use shardid_cluster::NodeName;
use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;
use sqlx::{AssertSqlSafe, Connection};

use crate::failure::Failure;
use crate::postgres::{failure, sql};
use crate::refinery::refinery_session;

/// The table in which refinery keeps what was run.
const HISTORY: &str = "shardid.catalog_history";

/// All migrations, in order. Released ones never change.
const MIGRATIONS: [(&str, &str); 18] = [
    ("V1__catalog", sql!("catalog/V1__catalog.sql")),
    ("V2__node", sql!("catalog/V2__node.sql")),
    ("V3__map", sql!("catalog/V3__map.sql")),
    ("V4__map_history", sql!("catalog/V4__map_history.sql")),
    ("V5__move", sql!("catalog/V5__move.sql")),
    ("V6__leftover", sql!("catalog/V6__leftover.sql")),
    ("V7__move_log", sql!("catalog/V7__move_log.sql")),
    ("V8__ticket", sql!("catalog/V8__ticket.sql")),
    ("V9__move_term", sql!("catalog/V9__move_term.sql")),
    ("V10__nodes_go", sql!("catalog/V10__nodes_go.sql")),
    ("V12__ticket_term", sql!("catalog/V12__ticket_term.sql")),
    ("V13__node_number", sql!("catalog/V13__node_number.sql")),
    ("V14__fingerprint", sql!("catalog/V14__fingerprint.sql")),
    ("V15__followed", sql!("catalog/V15__followed.sql")),
    ("V16__whole", sql!("catalog/V16__whole.sql")),
    ("V17__origin", sql!("catalog/V17__origin.sql")),
    ("V18__reopened", sql!("catalog/V18__reopened.sql")),
    ("V19__rules", sql!("catalog/V19__rules.sql")),
];

/// The migrations that this program has.
pub(crate) fn migrations() -> Vec<Migration> {
    let parse = |(name, sql): &(&str, &str)| {
        Migration::unapplied(name, sql).expect("the names above are in refinery's form")
    };
    MIGRATIONS.iter().map(parse).collect()
}

/// The same as values that a plan can be made of.
pub(crate) fn marks() -> Vec<shardid_cluster::Migration> {
    let mark = |migration: Migration| shardid_cluster::Migration {
        version: migration.version(),
        name: migration.name().to_owned(),
        checksum: migration.checksum(),
    };
    migrations().into_iter().map(mark).collect()
}

/// Makes the tables or brings them up to date, all or nothing.
pub(crate) async fn migrate(connection: &mut PgConnection, node: &NodeName) -> Result<(), Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    let mut transaction = connection.begin().await.map_err(failed)?;
    let is_new: bool = sqlx::query_scalar(sql!("catalog/is_new.sql"))
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed)?;
    let before: Vec<Oid> = sqlx::query_scalar(sql!("catalog/relations.sql"))
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed)?;
    let mut session = Session(&mut transaction);
    Runner::new(&migrations())
        .set_migration_table_name(HISTORY)
        .run_async(&mut session)
        .await
        .map_err(|error| {
            let cause = std::error::Error::source(&error)
                .and_then(|cause| cause.downcast_ref::<sqlx::Error>());
            match cause {
                Some(cause) => failure(node, cause),
                None => Failure::new(error).at(format!("node {node}")),
            }
        })?;
    let given: Vec<String> = sqlx::query_scalar(sql!("catalog/given_by_default.sql"))
        .bind(before)
        .fetch_all(&mut *transaction)
        .await
        .map_err(failed)?;
    for statement in given {
        let revoked = sqlx::raw_sql(AssertSqlSafe(statement));
        revoked.execute(&mut *transaction).await.map_err(failed)?;
    }
    if is_new {
        let shown = sqlx::raw_sql(sql!("catalog/made_by_superuser.sql"));
        shown.execute(&mut *transaction).await.map_err(failed)?;
    }
    sqlx::query(sql!("apply/write_program.sql"))
        .bind(env!("CARGO_PKG_VERSION"))
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

refinery_session!(Session, PgConnection);
