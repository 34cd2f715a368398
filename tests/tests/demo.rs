//! `make demo` runs to its end, with a few photos of somebody's own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use shardid_tests::Installation;

const PHOTOS: &str = "\
caption,user,extra
\"a \"\"quoted\"\" caption, with a comma\",ann,x
second,bob,y
\"two
lines\",ann,z
";

/// A command at the top of the repository, for the servers of the tests.
fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    // What cargo sets for us would have another cargo build everything anew.
    for (name, _) in std::env::vars() {
        let ours = ["CARGO_HOME", "CARGO_TARGET_DIR"].contains(&name.as_str());
        let builds_anew = ["LD_LIBRARY_PATH", "RUSTC_BOOTSTRAP"].contains(&name.as_str());
        if name.starts_with("CARGO") && !ours || builds_anew {
            command.env_remove(name);
        }
    }
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("PG_CONFIG", Installation::get().program("pg_config"))
        .env("SHARDID_DEMO", folder);
    command
}

fn words(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn the_demo_tells_its_story_to_the_end() {
    let folder = tempfile::Builder::new()
        .prefix("shardid-demo-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in("/tmp")
        .expect("a folder under /tmp can be made");
    let photos = folder.path().join("photos.csv");
    fs::write(&photos, PHOTOS).expect("the folder is ours");
    let told = command("scripts/demo", folder.path()).env("CSV", &photos).output();
    let stopped = command("sh", folder.path())
        .args([
            "-c",
            "top=$PWD; cd \"$SHARDID_DEMO\" && \"$top/target/debug/shardid\" dev down --delete",
        ])
        .output()
        .expect("sh can be run");
    let told = told.expect("it can be run");
    assert!(told.status.success(), "{}", words(&told));
    let text = words(&told);
    for part in [
        "17 rows, 17 different ids.",
        "QUERY PLAN",
        "21 moves",
        "done: 21 moves",
        "visitors signed up meanwhile, and each is there once",
        "21 old copies are dropped",
        "look around:  psql",
        "stop: ",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    assert!(stopped.status.success(), "{}", words(&stopped));
}

#[test]
fn the_demo_refuses_a_file_that_is_not_there() {
    let folder = std::env::temp_dir().join("shardid-demo-never-made");
    let told = command("scripts/demo", &folder).env("CSV", "/no/such/file.csv").output();
    let told = told.expect("it can be run");
    assert_eq!(told.status.code(), Some(1), "{}", words(&told));
    assert!(words(&told).contains("/no/such/file.csv cannot be read"), "{}", words(&told));
    assert!(!folder.exists());
}
