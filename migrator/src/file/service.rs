//! Connection services: `postgres:///?service=NAME` and PGSERVICEFILE, as libpq has them.

use std::path::{Path, PathBuf};

use configparser::ini::{Ini, IniDefault};
use url::Url;

/// Why a service could not be looked up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    /// No file has it.
    #[error("there is no service {0} in {1}")]
    Unknown(String, String),
    /// The file that is named cannot be read.
    #[error("could not read the service file {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// It is no service file.
    #[error("the service file {0} is wrong: {1}")]
    Form(PathBuf, String),
}

/// Adds what the service of a URL says and the URL itself does not.
pub(super) fn fill_in(
    url: &mut Url,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<(), ServiceError> {
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let in_url = pairs.iter().find(|(key, _)| key == "service").map(|(_, name)| name.clone());
    let Some(name) = in_url else { return Ok(()) };
    let mut settings = None;
    let files = files(&environment);
    for file in &files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(ServiceError::Read(file.clone(), error)),
        };
        settings =
            section(&text, &name).map_err(|error| ServiceError::Form(file.clone(), error))?;
        if settings.is_some() {
            break;
        }
    }
    let settings = settings.ok_or_else(|| {
        let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        ServiceError::Unknown(name, files.join(" or "))
    })?;
    url.set_query(None);
    let is_known = |key: &str| match key {
        "host" | "hostaddr" => url.host_str().is_some_and(|host| !host.is_empty()),
        "port" => url.port().is_some(),
        "user" => !url.username().is_empty(),
        "password" => url.password().is_some(),
        "dbname" => url.path().len() > 1,
        _ => false,
    };
    let in_url = |key: &str| is_known(key) || pairs.iter().any(|(k, _)| k == key);
    let from_file: Vec<_> = settings.into_iter().filter(|(key, _)| !in_url(key)).collect();
    let mut query = url.query_pairs_mut();
    for (key, value) in pairs.iter().filter(|(key, _)| key != "service").chain(&from_file) {
        query.append_pair(key, value);
    }
    Ok(())
}

/// Where services are looked for, the user's own first.
fn files(environment: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let own = environment("PGSERVICEFILE")
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".pg_service.conf")));
    let system = environment("PGSYSCONFDIR").unwrap_or_else(|| "/etc/postgresql-common".into());
    own.into_iter().chain([Path::new(&system).join("pg_service.conf")]).collect()
}

/// The settings of one section of a service file, as libpq reads it: a comment is a line of its
/// own, and case counts.
fn section(text: &str, name: &str) -> Result<Option<Vec<(String, String)>>, String> {
    let mut rules = IniDefault::default();
    rules.case_sensitive = true;
    rules.delimiters = vec!['='];
    rules.comment_symbols = vec!['#'];
    // A password may have a # in it.
    rules.inline_comment_symbols = Some(Vec::new());
    let mut sections = Ini::new_from_defaults(rules).read(text.to_owned())?;
    let Some(settings) = sections.shift_remove(name) else { return Ok(None) };
    let pairs = settings.into_iter().filter_map(|(key, value)| Some((key, value?)));
    Ok(Some(pairs.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_fills_in_what_the_url_does_not_say() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("services");
        let text = "[other]\nhost=x\n\n# ours\n[photos]\nhost = h1\nport=7\n#user=no\ndbname=d\npassword=p w\n[z]\nuser=z\n";
        std::fs::write(&path, text).unwrap();
        let environment = |name: &str| match name {
            "PGSERVICEFILE" => Some(path.display().to_string()),
            "PGSYSCONFDIR" => Some(folder.path().display().to_string()),
            _ => None,
        };
        let filled = |url: &str| {
            let mut url = Url::parse(url).unwrap();
            fill_in(&mut url, environment).map(|()| url.to_string())
        };
        assert_eq!(
            filled("postgres:///?service=photos&sslmode=require").unwrap(),
            "postgres:///?sslmode=require&host=h1&port=7&dbname=d&password=p+w"
        );
        assert_eq!(
            filled("postgres://u@h2:9/e?service=photos").unwrap(),
            "postgres://u@h2:9/e?password=p+w"
        );
        assert_eq!(filled("postgres://u@h2/e").unwrap(), "postgres://u@h2/e");
        let error = filled("postgres:///?service=none").unwrap_err().to_string();
        assert!(error.starts_with("there is no service none in "), "{error}");

        let case = "postgres:///?service=Photos";
        assert!(filled(case).unwrap_err().to_string().starts_with("there is no service Photos"));
        std::fs::write(&path, "[photos]\npassword=a#b;c d\n[oth").unwrap();
        let error = filled("postgres:///?service=photos").unwrap_err().to_string();
        assert!(error.starts_with("the service file ") && error.contains("is wrong: "), "{error}");
        std::fs::write(&path, "[photos]\npassword=a#b;c=d\n").unwrap();
        assert_eq!(
            filled("postgres:///?service=photos").unwrap(),
            "postgres:///?password=a%23b%3Bc%3Dd"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\[\\PC{0,4}\\]?\n|\\PC{0,9}=?\\PC{0,9}\n){0,9}") {
            let _ = section(&text, "a");
        }
    }
}
