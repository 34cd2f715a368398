//! MySQL's option files: who we are, where the URL does not say.

use std::path::{Path, PathBuf};

use configparser::ini::{Ini, IniDefault};

/// What the `[client]` groups say, the later files over the earlier ones.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) ssl_ca: Option<PathBuf>,
}

impl Login {
    /// Reads the files that the clients of MySQL and MariaDB read.
    pub(crate) fn load(environment: impl Fn(&str) -> Option<String>) -> Self {
        let mut files = vec![PathBuf::from("/etc/my.cnf"), PathBuf::from("/etc/mysql/my.cnf")];
        files.extend(environment("HOME").map(|home| Path::new(&home).join(".my.cnf")));
        let mut login = Self::default();
        for text in files.iter().filter_map(|file| std::fs::read_to_string(file).ok()) {
            login.read(&text);
        }
        login
    }

    fn read(&mut self, text: &str) {
        // `!include` is for servers; a line of it would end the reading.
        let text: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('!'))
            .map(|l| format!("{l}\n"))
            .collect();
        let mut rules = IniDefault::default();
        rules.delimiters = vec!['='];
        rules.comment_symbols = vec!['#', ';'];
        // A password may have a # in it.
        rules.inline_comment_symbols = Some(Vec::new());
        rules.multiline = false;
        let mut ini = Ini::new_from_defaults(rules);
        if ini.read(text).is_err() {
            return;
        }
        for group in ["client", "shardid"] {
            let get = |name: &str| {
                let value =
                    ini.get(group, name).or_else(|| ini.get(group, &name.replace('-', "_")))?;
                Some(unquoted(&value))
            };
            let or = |new: Option<String>, old: &mut Option<String>| {
                if new.is_some() {
                    *old = new;
                }
            };
            or(get("user"), &mut self.user);
            or(get("password"), &mut self.password);
            self.socket = get("socket").map(PathBuf::from).or(self.socket.take());
            self.ssl_ca = get("ssl-ca").map(PathBuf::from).or(self.ssl_ca.take());
        }
    }
}

/// A value without the quotes that may stand around it.
fn unquoted(value: &str) -> String {
    let inner = |quote| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_group_says_who_we_are_and_other_groups_do_not() {
        let mut login = Login::default();
        login.read(
            "[mysqld]\nuser = mysql\nskip-name-resolve\n!includedir /etc/mysql/conf.d/\n\
             [client]\n# a comment\nuser=app\npassword = \"p#ss; word\"\nquick\nssl_ca=/ca.pem\n",
        );
        assert_eq!(login.user.as_deref(), Some("app"));
        assert_eq!(login.password.as_deref(), Some("p#ss; word"));
        assert_eq!(login.ssl_ca.as_deref(), Some(Path::new("/ca.pem")));
        login.read("[client]\npassword='other'\n");
        assert_eq!(
            (login.user.as_deref(), login.password.as_deref()),
            (Some("app"), Some("other"))
        );
    }
}
