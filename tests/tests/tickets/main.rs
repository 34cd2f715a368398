//! Tickets that several servers share, steered by the program `shardid`, on
//! MariaDB and on MySQL.

mod anew;
mod backup;
mod change;
mod cut;
mod defaults;
mod flickr;
mod forgotten;
mod load;
mod lost;
mod migrations;
mod mixed;
mod prepared;
mod refuse;
mod rights;
mod second;
mod servers;
mod setup;
mod twice;
mod upgrade;
mod variables;

/// Each test once for each engine. MySQL is skipped, with a line that says so,
/// where `SHARDID_MYSQLD` names no server.
macro_rules! on_both_engines {
    ($($name:ident,)*) => {
        mod on_mariadb {
            $(#[test]
            fn $name() {
                super::$name($crate::servers::Engine::MariaDb);
            })*
        }

        mod on_mysql {
            $(#[test]
            fn $name() {
                if $crate::servers::has_mysql() {
                    super::$name($crate::servers::Engine::MySql);
                } else {
                    eprintln!("skipped: SHARDID_MYSQLD names no MySQL server");
                }
            })*
        }
    };
}
use on_both_engines;
