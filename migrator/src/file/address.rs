//! The URL of a node: where its server is and how to get in.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use shardid_cluster::{Engine, FOLLOWER_PREFIX};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use url::Url;

use crate::file::service;
use crate::mysql::Login;
use crate::postgres::Secret;

/// How long a connection may take where the URL does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How to reach a node. It never shows a password: not in an error, not in print.
#[derive(Clone)]
pub(crate) struct Address {
    engine: Engine,
    url: Url,
    connect_timeout: Duration,
}

/// Why a URL is not the address of a node. Nothing of the URL is repeated, as
/// any part of it may be a password in the wrong place.
#[derive(Debug, thiserror::Error)]
pub(super) enum AddressError {
    /// A password in the file.
    #[error("a password stands in this file")]
    Password,
    /// A variable that is not there.
    #[error("environment variable {0} is not set")]
    NotSet(String),
    /// `${` without its end or without a name.
    #[error("expected ${{NAME}}, with letters, digits and _ in the name")]
    Variable,
    /// Not a URL.
    #[error("expected a URL like postgres://user@host/database: {0}")]
    Form(url::ParseError),
    /// A scheme of something else.
    #[error("expected a URL that begins with postgres:// or mysql://")]
    Scheme,
    /// Without `//`: what follows is no host, and may be anything.
    #[error("expected // after the scheme of the URL, as in postgres://user@host/database")]
    NoHost,
    /// A number that is none.
    #[error("connect_timeout is a number of seconds")]
    Timeout,
    /// The service could not be looked up.
    #[error(transparent)]
    Service(#[from] service::ServiceError),
}

impl AddressError {
    pub(super) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Password => {
                "leave it to PGPASSFILE or ~/.pgpass (MySQL: [client] in ~/.my.cnf), or name a variable: postgres://user:${PG1_PASSWORD}@host/database"
            }
            Self::NotSet(name) => return Some(format!("export {name}=… before you start shardid")),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl Address {
    /// Reads a URL, with `${NAME}` filled in from the environment.
    ///
    /// A variable between `://` and `@` is a user or password and is encoded as
    /// that part of a URL wants it; elsewhere it is taken as it is.
    pub(super) fn new(
        template: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, AddressError> {
        // Whatever is a password before anything is filled in stands in the file.
        // With placeholders for the variables it parses like the real thing.
        let masked = fill_in(template, |_, _| Ok("1".to_owned()))?;
        let masked_password = Url::parse(&masked).ok().and_then(|url| password_of(&url));
        if masked_password.is_some() && !has_variable_as_password(template) {
            return Err(AddressError::Password);
        }
        let text = fill_in(template, |name, in_user_info| {
            let value = environment(name).ok_or_else(|| AddressError::NotSet(name.to_owned()))?;
            Ok(match in_user_info {
                true => utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string(),
                false => value,
            })
        })?;
        let mut url = Url::parse(&text).map_err(AddressError::Form)?;
        let engine = match url.scheme() {
            "postgres" | "postgresql" => Engine::Postgres,
            "mysql" | "mariadb" => Engine::Mysql,
            _ => return Err(AddressError::Scheme),
        };
        if url.cannot_be_a_base() {
            return Err(AddressError::NoHost);
        }
        if engine == Engine::Postgres {
            service::fill_in(&mut url, &environment)?;
        }
        let connect_timeout = take_parameter(&mut url, "connect_timeout")
            .or_else(|| environment("PGCONNECT_TIMEOUT"))
            .map(|seconds| seconds.parse().map_err(|_| AddressError::Timeout))
            .transpose()?;
        let connect_timeout = match connect_timeout {
            None | Some(0) => CONNECT_TIMEOUT,
            Some(seconds) => Duration::from_secs(seconds),
        };
        Ok(Self { engine, url, connect_timeout })
    }

    /// What kind of server it is.
    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    /// How long to wait for a connection.
    pub(crate) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// How to connect to a PostgreSQL server.
    pub(crate) fn postgres(&self) -> Result<PgConnectOptions, sqlx::Error> {
        self.url.as_str().parse()
    }

    /// Another database of the same PostgreSQL server.
    pub(crate) fn in_database(&self, name: &str) -> Self {
        let mut url = self.url.clone();
        take_parameter(&mut url, "dbname");
        url.set_path(&utf8_percent_encode(name, NON_ALPHANUMERIC).to_string());
        Self { url, ..self.clone() }
    }

    /// How to connect to a MySQL or MariaDB server. Who we are, where the URL
    /// does not say, is in MySQL's option files.
    pub(crate) fn mysql(&self) -> Result<MySqlConnectOptions, sqlx::Error> {
        let mut options: MySqlConnectOptions = self.url.as_str().parse()?;
        let login = Login::load(|name| std::env::var(name).ok());
        if self.url.username().is_empty() {
            let user = login.user.or_else(|| std::env::var("USER").ok());
            options = options.username(user.as_deref().unwrap_or("root"));
        }
        if let Some(password) = login.password.filter(|_| password_of(&self.url).is_none()) {
            options = options.password(&password);
        }
        let names = |key: &str| self.url.query_pairs().any(|(name, _)| name == key);
        if let Some(socket) = login.socket.filter(|_| {
            self.url.host_str().is_none_or(|host| host.is_empty() || host == "localhost")
                && !names("socket")
                && self.url.port().is_none()
        }) {
            options = options.socket(socket);
        }
        if let Some(authority) = login.ssl_ca.filter(|_| !names("ssl-ca") && !names("sslca")) {
            options = options.ssl_ca(authority);
        }
        // The session's settings are ours, in one file.
        Ok(options.pipes_as_concat(false).no_engine_substitution(false).timezone(None))
    }

    /// How another server connects to this PostgreSQL database by a role of its own, secret
    /// included: for `CREATE SUBSCRIPTION`, and never for the eyes of a person. Who we are
    /// ourselves, and our password, is not in it.
    pub(crate) fn for_follower(&self, role: &str, secret: &Secret) -> String {
        let mut url = self.url.clone();
        // A URL without a host has no place for a user, and so has none.
        let _ = url.set_password(None);
        let _ = url.set_username("");
        let ours = |part: &&str| !FOLLOWER_PARTS.contains(&part.split('=').next().unwrap_or(part));
        let mut parts: Vec<String> =
            url.query().unwrap_or("").split('&').filter(ours).map(str::to_owned).collect();
        parts.retain(|part| !part.is_empty());
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        parts.push(format!("user={}", encoded(role)));
        parts.push(format!("password={}", encoded(secret.reveal())));
        url.set_query(Some(&parts.join("&")));
        url.to_string()
    }

    /// Tells a program of PostgreSQL's how to connect, by its environment: what
    /// stands on a command line is seen by everybody.
    pub(crate) fn give_to(&self, command: &mut tokio::process::Command) {
        if let (Ok(options), Some(place)) = (self.postgres(), self.place()) {
            let host = place.socket.map_or(place.host, |socket| socket.display().to_string());
            command
                .env("PGHOST", host)
                .env("PGPORT", place.port.to_string())
                .env("PGUSER", options.get_username())
                .env("PGDATABASE", place.database);
        }
        if let Some(password) = password_of(&self.url) {
            let password = percent_encoding::percent_decode_str(&password).decode_utf8_lossy();
            command.env("PGPASSWORD", password.as_ref());
        }
        for (key, value) in self.url.query_pairs() {
            match key.as_ref() {
                "sslmode" => command.env("PGSSLMODE", value.as_ref()),
                "sslrootcert" => command.env("PGSSLROOTCERT", value.as_ref()),
                "sslcert" => command.env("PGSSLCERT", value.as_ref()),
                "sslkey" => command.env("PGSSLKEY", value.as_ref()),
                _ => command,
            };
        }
    }

    /// Where it is, for a person: host, port and database.
    pub(crate) fn shown(&self) -> String {
        if self.engine == Engine::Mysql {
            return self.shown_mysql();
        }
        self.place().map_or_else(
            || self.url.host_str().unwrap_or("?").to_owned(),
            |place| {
                let host = match &place.socket {
                    Some(socket) => socket.display().to_string(),
                    None => place.host,
                };
                format!("{host}:{}/{}", place.port, place.database)
            },
        )
    }

    fn shown_mysql(&self) -> String {
        let Ok(options) = self.mysql() else {
            return self.url.host_str().unwrap_or("?").to_owned();
        };
        let place = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        options.get_database().map_or(place.clone(), |database| format!("{place}/{database}"))
    }

    /// The parts that say where a PostgreSQL database is.
    pub(crate) fn place(&self) -> Option<Place> {
        let options = self.postgres().ok()?;
        Some(Place {
            host: options.get_host().to_owned(),
            socket: options.get_socket().cloned(),
            port: options.get_port(),
            database: options.get_database().unwrap_or(options.get_username()).to_owned(),
        })
    }
}

/// What of a URL says who somebody is.
const FOLLOWER_PARTS: [&str; 3] = ["user", "password", "passfile"];

/// The role and the secret in what [`Address::for_follower`] has made; `None` for any other
/// way into a server.
pub(crate) fn follower_of(way_in: &str) -> Option<(String, Secret)> {
    let url = Url::parse(way_in).ok()?;
    let part = |name| url.query_pairs().find(|(key, _)| key == name).map(|(_, v)| v.into_owned());
    let role = part("user").filter(|role| role.starts_with(FOLLOWER_PREFIX))?;
    Some((role, Secret::known(part("password")?)))
}

/// Where a PostgreSQL database is.
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) port: u16,
    pub(crate) database: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// A password, wherever a URL can have one.
fn password_of(url: &Url) -> Option<String> {
    let parameter =
        || url.query_pairs().find(|(key, _)| key == "password").map(|(_, v)| v.into_owned());
    url.password().map(str::to_owned).or_else(parameter)
}

/// Whether the password, where there is one, is a variable and nothing else.
fn has_variable_as_password(template: &str) -> bool {
    let user_info = template.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    let in_user_info =
        user_info.and_then(|(info, _)| info.split_once(':')).map(|(_, password)| password);
    let in_query =
        template.split_once("password=").map(|(_, rest)| rest.split('&').next().unwrap_or(rest));
    [in_user_info, in_query].into_iter().flatten().all(|password| {
        password.starts_with("${") && password.ends_with('}') && password.matches('}').count() == 1
    })
}

/// Replaces each `${NAME}`; `value` is told whether it stands before an `@`.
fn fill_in(
    template: &str,
    value: impl Fn(&str, bool) -> Result<String, AddressError>,
) -> Result<String, AddressError> {
    let user_info = match (template.find("://"), template.rfind('@')) {
        (Some(from), Some(to)) => from..to,
        _ => 0..0,
    };
    let mut text = String::new();
    let mut rest = template;
    while let Some(start) = rest.find("${") {
        let end = rest[start..].find('}').ok_or(AddressError::Variable)? + start;
        let name = &rest[start + 2..end];
        let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(known) {
            return Err(AddressError::Variable);
        }
        let position = template.len() - rest.len() + start;
        text.push_str(&rest[..start]);
        text.push_str(&value(name, user_info.contains(&position))?);
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    Ok(text)
}

/// Takes a parameter that only this program understands out of a URL.
fn take_parameter(url: &mut Url, name: &str) -> Option<String> {
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let found = pairs.iter().find(|(key, _)| key == name)?.1.clone();
    url.set_query(None);
    let others = pairs.into_iter().filter(|(key, _)| key != name);
    for (key, value) in others {
        url.query_pairs_mut().append_pair(&key, &value);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "PASSWORD" => Some("p@ss:w/rd?".into()),
            "HOST" => Some("10.0.0.1:5433".into()),
            "FLAT" => Some("postgres:u:secret@h/d".into()),
            "WHOLE" => Some("postgres://u:secret@h:1/d".into()),
            _ => None,
        }
    }

    fn shown(template: &str) -> String {
        Address::new(template, environment).map_or_else(|e| e.to_string(), |a| a.shown())
    }

    #[test]
    fn variables_are_filled_in_where_they_stand() {
        assert_eq!(shown("postgres://u:${PASSWORD}@${HOST}/d"), "10.0.0.1:5433/d");
        let address = Address::new("postgres://u:${PASSWORD}@h/d", environment).unwrap();
        assert_eq!(password_of(&address.url).unwrap(), "p%40ss%3Aw%2Frd%3F");
        assert_eq!(shown("${WHOLE}"), "h:1/d");
        assert_eq!(shown("postgres:///app?host=/run/x&port=7&user=u"), "/run/x:7/app");
        assert_eq!(shown("postgres://${NONE}@h/d"), "environment variable NONE is not set");
        for bad in ["postgres://${@h/d", "postgres://${}@h/d", "postgres://${A-B}@h/d"] {
            assert!(shown(bad).starts_with("expected ${NAME}"), "{bad}");
        }
        for flat in ["${FLAT}", "postgres:u@h"] {
            assert!(shown(flat).starts_with("expected // after the scheme"), "{flat}");
        }
        assert!(shown("http://h/d").starts_with("expected a URL that begins"));
        assert!(shown("h/d").starts_with("expected a URL like"));
    }

    #[test]
    fn a_password_in_the_file_is_refused_and_never_shown() {
        for bad in [
            "postgres://u:secret@h/d",
            "postgres://u:x${PASSWORD}@h/d",
            "postgres://u:${PASSWORD}${PASSWORD}@h/d",
            "postgres://h/d?password=secret",
            "postgres://h/d?sslmode=require&password=secret&port=1",
            "mysql://u:secret@h/d",
        ] {
            assert_eq!(shown(bad), "a password stands in this file", "{bad}");
        }
        assert_eq!(shown("postgres://h:1/d?password=${PASSWORD}"), "h:1/d");
        let address = Address::new("${WHOLE}", environment).unwrap();
        assert_eq!(format!("{address:?} {}", address.shown()), "h:1/d h:1/d");
    }

    #[test]
    fn who_follows_says_who_it_is_and_not_who_we_are() {
        let secret = Secret::known("s-e_c".into());
        let way_in = |url: &str| {
            let address = Address::new(url, environment).unwrap();
            address.for_follower("shardid/pg2/1", &secret)
        };
        let who = "user=shardid%2Fpg2%2F1&password=s%2De%5Fc";
        let url = "postgres://u:${PASSWORD}@h:1/d?sslmode=require";
        assert_eq!(way_in(url), format!("postgres://h:1/d?sslmode=require&{who}"));
        let url = "postgres:///d?host=/run/x&user=u&password=${PASSWORD}&options=-c%20a%3Db";
        let expected = format!("postgres:///d?host=/run/x&options=-c%20a%3Db&{who}");
        assert_eq!(way_in(url), expected);
        let (role, found) = follower_of(&way_in(url)).unwrap();
        assert!(role == "shardid/pg2/1" && found == secret);
        assert!(follower_of("postgres://u:p@h/d").is_none());
        assert!(follower_of("postgres://h/d?user=u&password=p").is_none());
        assert!(follower_of("host=/nowhere password=none").is_none());
    }

    #[test]
    fn the_time_to_connect_is_bounded() {
        let seconds =
            |url: &str| Address::new(url, environment).map(|a| a.connect_timeout().as_secs());
        assert_eq!(seconds("postgres://h/d").unwrap(), 5);
        assert_eq!(seconds("postgres://h/d?connect_timeout=2&sslmode=disable").unwrap(), 2);
        assert!(seconds("postgres://h/d?connect_timeout=x").is_err());
    }

    use proptest::prelude::*;

    /// One of these parts of an address, or anything.
    fn part(known: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop_oneof![
            4 => prop::sample::select(known).prop_map(str::to_owned),
            1 => "\\PC{0,6}",
        ]
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_shows_a_password(
            scheme in part(&["postgres://", "mysql://", "mariadb://", "x://", ""]),
            user in part(&["", "u", "${HOST}", "${NO}"]),
            password in part(&["", ":", ":${PASSWORD}", ":p", ":${PASSWORD}x"]),
            host in part(&["", "@h", "@${HOST}", "@[::1]:7", "@h:99999", "@@"]),
            database in part(&["", "/", "/d", "/d?password=${PASSWORD}", "?socket=/s&password=${PASSWORD}"]),
        ) {
            // What is written after the end of the place of names is none of them.
            prop_assume!(!scheme.contains('/') || scheme.ends_with("://"));
            prop_assume!(!user.contains(['/', '?', '#', '\\', '@']));
            let text = [scheme, user, password, host, database].concat();
            if let Ok(address) = Address::new(&text, environment) {
                let said = format!("{} {address:?}", address.shown());
                let secret = ["p@ss", "p%40ss"].iter().any(|secret| said.contains(secret));
                prop_assert!(!secret, "{} of {}", said, text);
                let _ = (address.place(), address.postgres(), address.mysql());
            }
        }
    }
}
