//! What kind of server this is, and whether numbers are safe with it.

use std::collections::BTreeMap;
use std::fmt;

use shardid_cluster::NodeName;
use sqlx::Row;
use sqlx::mysql::MySqlConnection;

use crate::failure::Failure;
use crate::mysql::error::number;
use crate::mysql::{failure, sql};

/// ER_SPECIFIC_ACCESS_DENIED_ERROR: a privilege that holds for the whole server is missing.
const ACCESS_DENIED: u16 = 1227;

/// ER_TABLEACCESS_DENIED_ERROR: a table may not be read.
const TABLE_ACCESS_DENIED: u16 = 1142;

/// Which of the two it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

/// A server's settings, as far as they matter here.
#[derive(Debug, Clone)]
pub(crate) struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Asks for them.
    pub(crate) async fn of(
        connection: &mut MySqlConnection,
        node: &NodeName,
    ) -> Result<Self, Failure> {
        let rows = sqlx::raw_sql(sql!("look/variables.sql"))
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| failure(node, &error))?;
        let failed = |error: sqlx::Error| failure(node, &error);
        let stands_still: bool = sqlx::query_scalar(sql!("look/sysdate.sql"))
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
        let grants = sqlx::raw_sql(sql!("look/grants.sql"))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed)?;
        let may_create = grants
            .iter()
            .any(|row| gives_functions(&row.try_get_unchecked::<String, _>(0).unwrap_or_default()));
        let uuid: String = sqlx::query_scalar(sql!("look/uuid.sql"))
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
        let asked = [("sysdate stands still", stands_still), ("may create", may_create)];
        let asked = asked.map(|(name, is)| (name.to_owned(), u8::from(is).to_string()));
        let asked = asked.into_iter().chain([("server_uuid".to_owned(), uuid)]);
        let pairs = rows.iter().map(|row| {
            let name: String = row.try_get_unchecked(0).unwrap_or_default();
            let value: String = row.try_get_unchecked(1).unwrap_or_default();
            (name.to_ascii_lowercase(), value)
        });
        Ok(Self(pairs.chain(asked).collect()))
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn is_on(&self, name: &str) -> bool {
        matches!(self.get(name).to_ascii_uppercase().as_str(), "ON" | "1")
    }

    /// Which of the two it is.
    pub(crate) fn flavour(&self) -> Flavour {
        let said = format!("{} {}", self.get("version"), self.get("version_comment"));
        match said.to_ascii_lowercase().contains("mariadb") {
            true => Flavour::MariaDb,
            false => Flavour::MySql,
        }
    }

    /// `10.11.14` of `10.11.14-MariaDB-0+deb12u2`.
    pub(crate) fn version(&self) -> &str {
        self.get("version").split('-').next().unwrap_or_default()
    }

    /// `(10, 11, 14)` of the same.
    fn numbers(&self) -> (u32, u32, u32) {
        let mut parts = self.version().split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        (next(), next(), next())
    }

    /// Whether the server says REPLICA and SOURCE: MySQL does since 8.0.22, and lately nothing else.
    fn speaks_of_replicas(&self) -> bool {
        self.flavour() == Flavour::MySql && self.numbers() >= (8, 0, 22)
    }

    /// That this user cannot be told whether the server is a replica.
    fn may_not_ask(&self, node: &NodeName, user: &str) -> Failure {
        let privilege = match self.flavour() {
            Flavour::MariaDb => "REPLICA MONITOR",
            Flavour::MySql => "REPLICATION CLIENT",
        };
        Failure::new(
            "this user may not ask whether the server is a replica, which must not be written to",
        )
        .at(format!("node {node}"))
        .hint(format!("GRANT {privilege} ON *.* TO {user}"))
    }

    /// What MySQL knows a server by, and MariaDB has not.
    pub(crate) fn uuid(&self) -> Option<&str> {
        self.0.get("server_uuid").map(String::as_str).filter(|uuid| !uuid.is_empty())
    }

    /// Why this user cannot make functions here; error 1419 in the middle of it otherwise.
    pub(crate) fn no_functions(&self, node: &NodeName) -> Option<Failure> {
        let refused = self.is_on("log_bin")
            && !self.is_on("log_bin_trust_function_creators")
            && !self.is_on("may create");
        refused.then(|| {
            Failure::new("the server has a binary log, and this user may not make functions there")
                .at(format!("node {node}"))
                .hint("SET GLOBAL log_bin_trust_function_creators = 1 (a managed server: in its parameter group), or use a user with SUPER")
        })
    }

    /// All reasons not to hand out numbers here; `power_loss` is accepted by
    /// those who would rather be fast.
    pub(crate) fn refusals(&self, node: &NodeName, power_loss: bool) -> Vec<Failure> {
        let mut found = Vec::new();
        let mut refuse = |message: String, hint: &str| {
            found.push(Failure::new(message).at(format!("node {node}")).hint(hint));
        };
        let (oldest, name) = match self.flavour() {
            Flavour::MariaDb => ((10, 6), "MariaDB 10.6"),
            Flavour::MySql => ((8, 0), "MySQL 8.0"),
        };
        let (major, minor, _) = self.numbers();
        if (major, minor) < oldest {
            refuse(
                format!("{} {} is older than {name}", self.flavour(), self.version()),
                "upgrade the server",
            );
        }
        if self.is_on("read_only") || self.is_on("super_read_only") {
            refuse(
                "the server is read-only, a replica perhaps".to_owned(),
                "name the server that takes writes",
            );
        }
        if self.is_on("log_bin") && self.get("binlog_format").eq_ignore_ascii_case("statement") {
            refuse(
                "binlog_format is STATEMENT, with which a replica gets other numbers than this server gave".to_owned(),
                "SET PERSIST binlog_format = 'ROW' (MariaDB: SET GLOBAL, and in its option file), then connect anew",
            );
        }
        if self.get("innodb_autoinc_lock_mode") == "0" {
            refuse(
                "innodb_autoinc_lock_mode is 0, with which whoever takes an id locks out all others until the statement ends".to_owned(),
                "set innodb_autoinc_lock_mode to 1 or 2 in the server's option file, and restart it",
            );
        }
        if self.is_on("sysdate stands still") {
            refuse(
                "the server runs with --sysdate-is-now: a client that sets its time would move the ids of all".to_owned(),
                "start the server without sysdate-is-now",
            );
        }
        // MariaDB flushes at each commit with 3, too: at prepare besides. Up to 10.6.4 some did as with 2
        // (MDEV-26138).
        let flushes_with_3 = self.flavour() == Flavour::MariaDb && self.numbers() >= (10, 6, 5);
        match self.get("innodb_flush_log_at_trx_commit") {
            "1" => {}
            "3" if flushes_with_3 => {}
            "2" | "3" if power_loss => {}
            value @ ("2" | "3") => refuse(
                format!(
                    "innodb_flush_log_at_trx_commit is {value}: after a power loss the numbers of the last second are handed out again"
                ),
                "set it to 1, or say `shardid apply --accept-power-loss`",
            ),
            other => refuse(
                format!(
                    "innodb_flush_log_at_trx_commit is {other}: after a crash the numbers of the last second are handed out again"
                ),
                "set it to 1",
            ),
        }
        // What the binary log has lost is rolled back when the server comes back, though it was flushed.
        if self.is_on("log_bin") && !["1", ""].contains(&self.get("sync_binlog")) && !power_loss {
            refuse(
                format!(
                    "sync_binlog is {}: after a power loss the last numbers are handed out again",
                    self.get("sync_binlog")
                ),
                "set it to 1, or say `shardid apply --accept-power-loss`",
            );
        }
        if self.get("innodb_flush_method").eq_ignore_ascii_case("nosync") && !power_loss {
            refuse(
                "innodb_flush_method is nosync: after a power loss the last numbers are handed out again".to_owned(),
                "leave it out of the server's option file, or say `shardid apply --accept-power-loss`",
            );
        }
        found
    }
}

/// What the routines, triggers and views of schema shardid need of the user who made them, in the order in which it is told.
const NEEDED: [&str; 9] =
    ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "EXECUTE", "TRIGGER"];

/// What of that the lines of SHOW GRANTS do not give on schema shardid. Those of roles that are active are among them.
fn lacking(grants: &[String]) -> Vec<&'static str> {
    let of = |words: &str, place: fn(&str) -> bool, needed: &str| {
        grants.iter().any(|grant| {
            let Some((privileges, rest)) =
                grant.strip_prefix(words).and_then(|rest| rest.split_once(" ON "))
            else {
                return false;
            };
            let at = rest.split(" TO ").next().and_then(|at| at.split(" FROM ").next());
            at.is_some_and(place)
                && privileges
                    .split(',')
                    .any(|one| one.trim() == needed || one.trim() == "ALL PRIVILEGES")
        })
    };
    let here = |at: &str| {
        let schema = at.strip_prefix('`').and_then(|at| at.strip_suffix("`.*"));
        schema.is_some_and(|pattern| is_like(pattern.as_bytes(), b"shardid"))
    };
    let everywhere = |at: &str| at == "*.*";
    let has = |needed: &&&str| {
        let by_all = of("GRANT ", everywhere, needed) && !of("REVOKE ", here, needed);
        by_all || of("GRANT ", here, needed)
    };
    NEEDED.iter().filter(|needed| !has(needed)).copied().collect()
}

/// Whether a name is one that a pattern of a GRANT stands for.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'%', rest @ ..], _) => (0..=name.len()).any(|at| is_like(rest, &name[at..])),
        ([b'_', rest @ ..], [_, name @ ..]) => is_like(rest, name),
        ([b'\\', one, rest @ ..], [first, name @ ..]) => one == first && is_like(rest, name),
        ([one, rest @ ..], [first, name @ ..]) => one == first && is_like(rest, name),
        _ => false,
    }
}

/// Whether one of the lines of SHOW GRANTS lets its user make functions where there is a binary log.
///
/// Those of roles that are active are among them, unlike in the tables of privileges.
fn gives_functions(grant: &str) -> bool {
    let everywhere = grant.strip_prefix("GRANT ").and_then(|rest| rest.split_once(" ON *.* TO "));
    everywhere.is_some_and(|(privileges, _)| {
        privileges
            .split(',')
            .any(|one| matches!(one.trim(), "ALL PRIVILEGES" | "SUPER" | "BINLOG ADMIN"))
    })
}

/// Why not to write on a server that follows another, or may do so: this user may not ask.
///
/// What is written on a replica comes in the way of what it is sent: on MariaDB that ends the
/// replication, on MySQL both would be one server of a ticket.
pub(crate) async fn replica(
    connection: &mut MySqlConnection,
    settings: &Settings,
    node: &NodeName,
) -> Result<Option<Failure>, Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    let (statement, host, port, states) = match settings.speaks_of_replicas() {
        false => (
            match settings.flavour() {
                Flavour::MariaDb => sql!("look/replica_mariadb.sql"),
                Flavour::MySql => sql!("look/replica_before.sql"),
            },
            "Master_Host",
            "Master_Port",
            ["Slave_IO_Running", "Slave_SQL_Running"],
        ),
        true => (
            sql!("look/replica_mysql.sql"),
            "Source_Host",
            "Source_Port",
            ["Replica_IO_Running", "Replica_SQL_Running"],
        ),
    };
    let rows = match sqlx::raw_sql(statement).fetch_all(&mut *connection).await {
        Ok(rows) => rows,
        Err(error) if number(&error) == Some(ACCESS_DENIED) => {
            let user: String = sqlx::query_scalar(sql!("look/user.sql"))
                .fetch_one(connection)
                .await
                .map_err(failed)?;
            return Ok(Some(settings.may_not_ask(node, &user)));
        }
        Err(error) => return Err(failed(error)),
    };
    let text = |row: &sqlx::mysql::MySqlRow, name: &str| {
        row.try_get_unchecked::<String, _>(name).unwrap_or_default()
    };
    // One that was stopped for good, because it has taken over, is none.
    let follows = rows.iter().find(|row| states.iter().any(|state| text(row, state) != "No"));
    Ok(follows.map(|row| {
        let port: u32 = row.try_get_unchecked(port).unwrap_or_default();
        Failure::new(format!("the server is a replica: it follows {}:{port}", text(row, host)))
            .at(format!("node {node}"))
            .hint("name the server that it follows; where this one has taken over, stop its replication for good")
    }))
}

/// Why routines of this user would fail in the hands of others, and whether there are any. MariaDB runs them with what he
/// was granted himself, and leaves out his roles, by which he may have made them; MySQL takes along those that are active
/// when somebody logs in.
async fn no_rights_of_its_own(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<Option<Denied>, Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    let is_mariadb: bool = sqlx::query_scalar(sql!("look/is_mariadb.sql"))
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let has_made: bool = sqlx::query_scalar(sql!("look/made_by_me.sql"))
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let missing: Vec<String> = match is_mariadb {
        true => sqlx::query_scalar(sql!("look/own_rights.sql"))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed)?,
        false if !has_made => Vec::new(),
        // What his roles may do he is not told by the tables of privileges.
        false => {
            let rows = sqlx::raw_sql(sql!("look/grants.sql")).fetch_all(&mut *connection).await;
            let text = |row: &sqlx::mysql::MySqlRow| row.try_get_unchecked(0).unwrap_or_default();
            let grants: Vec<String> = rows.map_err(failed)?.iter().map(text).collect();
            lacking(&grants).into_iter().map(str::to_owned).collect()
        }
    };
    if missing.is_empty() {
        return Ok(None);
    }
    let user: String =
        sqlx::query_scalar(sql!("look/user.sql")).fetch_one(connection).await.map_err(failed)?;
    let what = missing.join(", ");
    let message = match is_mariadb {
        true => format!(
            "MariaDB runs routines with what their definer was granted, without roles, and {user} is denied on schema shardid: {what}"
        ),
        false => of_definer(&user, &what),
    };
    let is_blind = has_made && is_blind(missing.iter());
    Ok(Some(Denied { failure: denied(node, message, &user), user, is_blind }))
}

/// What an account is denied, and whether not even a look at the schema can work.
struct Denied {
    user: String,
    failure: Failure,
    is_blind: bool,
}

fn of_definer(user: &str, what: &str) -> String {
    format!(
        "routines of schema shardid run with the rights of {user}, which made them, and it is denied there: {what}"
    )
}

fn denied(node: &NodeName, message: String, user: &str) -> Failure {
    Failure::new(message)
        .at(format!("node {node}"))
        .hint(format!("GRANT ALL ON shardid.* TO {user} WITH GRANT OPTION"))
        .answered()
}

fn is_blind<'a>(mut lacking: impl Iterator<Item = &'a String>) -> bool {
    lacking.any(|privilege| matches!(&**privilege, "SELECT" | "EXECUTE"))
}

/// Why routines would fail in anybody's hands: what the accounts that made them, this one among them, may not do on schema
/// shardid. Of others nothing is said where this user is not told. It is an error where not even a look at the schema can work.
pub(crate) async fn rights_of_definers(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<Vec<Failure>, Failure> {
    let asked = sqlx::query_as(sql!("look/definers.sql")).fetch_all(&mut *connection).await;
    let lacking: Vec<(String, String)> = match asked {
        Err(error) if number(&error) == Some(TABLE_ACCESS_DENIED) => Vec::new(),
        asked => asked.map_err(|error| failure(node, &error))?,
    };
    let own = no_rights_of_its_own(connection, node).await?;
    let mut of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (user, privilege) in lacking {
        of.entry(user).or_default().push(privilege);
    }
    of.retain(|user, _| own.as_ref().is_none_or(|own| own.user != *user));
    let is_blind = of.values().any(|lacking| is_blind(lacking.iter()))
        || own.as_ref().is_some_and(|own| own.is_blind);
    let others = of
        .into_iter()
        .map(|(user, lacking)| denied(node, of_definer(&user, &lacking.join(", ")), &user));
    let failures: Vec<Failure> = others.chain(own.map(|own| own.failure)).collect();
    match is_blind {
        true => Failure::all(failures).map_or(Ok(Vec::new()), Err),
        false => Ok(failures),
    }
}

/// Tables that would begin again at 1 after a crash.
pub(crate) async fn unsafe_tables(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<Vec<Failure>, Failure> {
    let rows: Vec<(String, String)> = sqlx::query_as(sql!("look/engines.sql"))
        .fetch_all(connection)
        .await
        .map_err(|error| failure(node, &error))?;
    let refuse = |(table, engine): (String, String)| {
        Failure::new(format!(
            "table {table} is of engine {engine}, which repeats numbers after a crash"
        ))
        .at(format!("node {node}"))
        .hint(format!("ALTER TABLE {table} ENGINE = InnoDB"))
    };
    Ok(rows.into_iter().map(refuse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_make_functions_is_read_from_the_grants() {
        for grant in [
            "GRANT SUPER, CREATE ROUTINE ON *.* TO `boss`",
            "GRANT SELECT, SUPER ON *.* TO `rl`@`%` WITH GRANT OPTION",
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` IDENTIFIED VIA unix_socket",
            "GRANT BINLOG ADMIN ON *.* TO `maker`@`%`",
        ] {
            assert!(gives_functions(grant), "{grant}");
        }
        for grant in [
            "GRANT USAGE ON *.* TO `rl`@`%`",
            "GRANT ALL PRIVILEGES ON `shardid`.* TO `maker`@`%`",
            "GRANT `SUPER` TO `rl`@`%`",
            "GRANT BINLOG_ADMIN,XA_RECOVER_ADMIN ON *.* TO `rl`@`%`",
            "REVOKE SUPER ON *.* TO `rl`@`%`",
        ] {
            assert!(!gives_functions(grant), "{grant}");
        }
    }

    #[test]
    fn what_routines_lack_is_read_from_the_grants() {
        let lacks = |grants: &[&str]| {
            let grants: Vec<String> = grants.iter().map(|grant| (*grant).to_owned()).collect();
            lacking(&grants).join(", ")
        };
        let all = "GRANT ALL PRIVILEGES ON `shardid`.* TO `shardid`@`%` WITH GRANT OPTION";
        assert_eq!(lacks(&["GRANT USAGE ON *.* TO `shardid`@`%`", all]), "");
        assert_eq!(lacks(&["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`"]), "");
        assert_eq!(lacks(&["GRANT ALL PRIVILEGES ON `sh%`.* TO `a`@`%`"]), "");
        assert_eq!(lacks(&["GRANT ALL PRIVILEGES ON `shard_d`.* TO `a`@`%`"]), "");
        let most = "GRANT SELECT, INSERT, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, CREATE TEMPORARY TABLES, EXECUTE, CREATE VIEW ON";
        let here = format!("{most} `shardid`.* TO `shardid`@`%` WITH GRANT OPTION");
        assert_eq!(lacks(&[&here]), "UPDATE, TRIGGER");
        let role = "GRANT `tool`@`%` TO `shardid`@`%`";
        assert_eq!(lacks(&[&here, role, "GRANT UPDATE, TRIGGER ON *.* TO `shardid`@`%`"]), "");
        let revoked = "REVOKE UPDATE ON `shardid`.* FROM `shardid`@`%`";
        assert_eq!(lacks(&["GRANT ALL PRIVILEGES ON *.* TO `a`@`%`", revoked]), "UPDATE");
        let elsewhere = format!("{most} `shard\\_d`.* TO `shardid`@`%`");
        assert_eq!(lacks(&[&elsewhere]), NEEDED.join(", "));
    }

    #[test]
    fn what_a_server_calls_a_replica_is_known_by_its_version() {
        for (version, is) in [
            ("8.0.21", false),
            ("8.0.22-cluster", true),
            ("8.4.0", true),
            ("9.7.0", true),
            ("10.11.14-MariaDB-0+deb12u2", false),
        ] {
            let settings = Settings([("version".to_owned(), version.to_owned())].into());
            assert_eq!(settings.speaks_of_replicas(), is, "{version}");
        }
    }

    fn refused(settings: &[(&str, &str)], power_loss: bool) -> Vec<String> {
        let mut all: BTreeMap<String, String> = [
            ("version", "10.11.14-MariaDB-0+deb12u2"),
            ("log_bin", "ON"),
            ("binlog_format", "ROW"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("read_only", "OFF"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        all.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let node = NodeName::new("my1").unwrap();
        let failures = Settings(all).refusals(&node, power_loss);
        failures.iter().flat_map(|f| f.messages().map(|(m, _)| m.to_owned())).collect()
    }

    #[test]
    fn a_server_that_could_repeat_numbers_is_refused_with_the_reason() {
        assert!(refused(&[], false).is_empty());
        assert!(refused(&[("version", "8.0.36")], false).is_empty());
        assert!(refused(&[("binlog_format", "STATEMENT")], true)[0].contains("binlog_format"));
        assert!(refused(&[("binlog_format", "STATEMENT"), ("log_bin", "OFF")], false).is_empty());
        let two = ("innodb_flush_log_at_trx_commit", "2");
        assert!(refused(&[two], false)[0].contains("power loss"));
        assert!(refused(&[two], true).is_empty());
        let three = ("innodb_flush_log_at_trx_commit", "3");
        assert!(refused(&[three], false).is_empty(), "MariaDB flushes at each commit with it");
        let before = ("version", "10.6.4-MariaDB");
        assert!(refused(&[three, before], false)[0].contains("is 3: after a power loss"));
        assert!(refused(&[three, before], true).is_empty());
        assert!(refused(&[three, ("version", "10.6.5-MariaDB")], false).is_empty());
        // That one does not even survive a crash of the program.
        assert!(refused(&[("innodb_flush_log_at_trx_commit", "0")], true)[0].contains("crash"));
        // MariaDB's default.
        let zero = ("sync_binlog", "0");
        assert!(refused(&[zero], false)[0].contains("sync_binlog is 0: after a power loss"));
        assert!(refused(&[("sync_binlog", "100")], false)[0].contains("sync_binlog is 100"));
        assert!(refused(&[zero], true).is_empty());
        assert!(refused(&[zero, ("log_bin", "OFF")], false).is_empty());
        assert!(refused(&[("sync_binlog", "1")], false).is_empty());
        let nosync = ("innodb_flush_method", "nosync");
        assert!(refused(&[nosync], false)[0].contains("nosync"));
        assert!(refused(&[nosync], true).is_empty());
        assert!(refused(&[("version", "10.5.9-MariaDB")], false)[0].contains("MariaDB 10.6"));
        assert!(refused(&[("version", "5.7.44")], false)[0].contains("MySQL 8.0"));
        assert!(refused(&[("super_read_only", "ON")], false)[0].contains("read-only"));
        assert!(refused(&[("innodb_autoinc_lock_mode", "0")], false)[0].contains("lock_mode is 0"));
        assert!(refused(&[("innodb_autoinc_lock_mode", "1")], false).is_empty());
        assert!(refused(&[("sysdate stands still", "1")], false)[0].contains("--sysdate-is-now"));
        let all = [two, ("read_only", "1"), ("binlog_format", "statement")];
        assert_eq!(refused(&all, false).len(), 3);
    }
}
