//! The files under `sql/mysql` that are run once on a server, in order.

use crate::mysql::sql;

type Files<const N: usize> = [(&'static str, &'static str); N];

/// Those of a catalogue. Released ones never change.
pub(super) const CATALOG: Files<1> = [("V1__ticket", sql!("catalog/V1__ticket.sql"))];

/// Those for all engines.
pub(super) const COMMON: Files<0> = [];

/// Those for MariaDB alone.
pub(super) const MARIADB: Files<0> = [];

/// Those for MySQL alone.
pub(super) const MYSQL: Files<0> = [];
