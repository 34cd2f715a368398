//! Tests of the SQL for MariaDB and MySQL, against real servers.
//!
//! Each test has two names, `on_mariadb::NAME` and `on_mysql::NAME`.

mod blocks;
mod change;
mod clock;
mod crash;
mod defaults;
mod draws;
mod dump;
mod flickr;
mod galera;
mod harness;
mod home;
mod ids;
mod lower;
mod plays;
mod prepared;
mod rights;
mod segments;
mod tickets;
mod variables;
mod vectors;
mod waiting;
