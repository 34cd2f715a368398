//! Throw-away servers.

use std::path::Path;
use std::process::Command;

use shardid_tests::Installation;
use tempfile::TempDir;

use crate::program::{self, Run};

/// A folder with throw-away servers, which end with it.
struct Dev(TempDir);

impl Dev {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The servers may belong to another user than we are.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        Self(folder)
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_in(self.0.path(), arguments)
    }

    fn run_in(&self, folder: &Path, arguments: &[&str]) -> Run {
        let mut command = program::command(folder, arguments);
        command.env("PG_CONFIG", Installation::get().program("pg_config"));
        program::run(command)
    }

    /// The process of each server that is up.
    fn pids(&self) -> Vec<i32> {
        let text = self.run(&["dev", "status"]).ok();
        let up =
            text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)?.parse().ok());
        up.collect()
    }

    /// Runs a statement on the first server, as `dev status` says how.
    fn psql(&self, sql: &str) -> String {
        let said = self.run(&["dev", "status"]).stderr;
        let line = said.lines().find_map(|line| line.strip_prefix("look around:  psql ")).unwrap();
        let output = Command::new(Installation::get().program("psql"))
            .args(line.split(' '))
            .args(["-X", "-A", "-t", "-c", sql])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // Nothing was started; and a panic here would hide the test's own.
        if !self.0.path().join(".shardid").exists() {
            return;
        }
        let _ = self.run(&["dev", "down", "--delete"]);
    }
}

#[test]
fn servers_go_up_and_down_and_keep_what_they_have() {
    let dev = Dev::new();
    assert_eq!(dev.run(&["dev", "status"]).code, 1);
    dev.run(&["dev", "down"]).ok();
    let run = dev.run(&["dev", "up", "--shards", "8"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let pids = dev.pids();
    assert_eq!(pids.len(), 2);
    dev.run(&["apply", "--yes"]).ok();
    dev.run(&["id", "next", "7"]).ok();
    dev.psql("CREATE TABLE t AS SELECT 42 AS x");

    dev.run(&["dev", "up"]).ok();
    assert_eq!(dev.pids(), pids, "run again it changes nothing");
    let error = dev.run(&["dev", "up", "--shards", "9"]).refused();
    assert!(error.contains("these servers were made for 8 shards, not 9"), "{error}");

    Command::new("kill").args(["-9", &pids[0].to_string()]).status().unwrap();
    dev.run(&["dev", "up", "--nodes", "3"]).ok();
    assert_eq!(dev.pids().len(), 3);
    assert_eq!(dev.psql("SELECT x FROM t"), "42");
    dev.run(&["apply", "--yes"]).ok();
    assert!(dev.run(&["map"]).ok().contains("pg3        0"));

    dev.run(&["dev", "down"]).ok();
    assert!(dev.pids().is_empty());
    dev.run(&["dev", "up"]).ok();
    assert_eq!(dev.psql("SELECT x FROM t"), "42");
    assert!(dev.0.path().join(".shardid/log/pg3.log").exists());
    dev.run(&["dev", "down", "--delete"]).ok();
    assert!(!dev.0.path().join(".shardid").exists());
}

#[test]
fn by_tcp_a_server_wants_the_password_that_is_kept_beside_it() {
    let dev = Dev::new();
    dev.run(&["dev", "up", "--nodes", "1"]).ok();
    let pgpass = dev.0.path().join(".shardid/pgpass");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&pgpass).unwrap());
    assert_eq!(mode & 0o077, 0, "nobody else can read it");
    let line = std::fs::read_to_string(&pgpass).unwrap();
    let port = line.split(':').nth(1).unwrap();
    let psql = |passfile: &Path| {
        Command::new(Installation::get().program("psql"))
            .args([
                "-X",
                "-w",
                "-h",
                "127.0.0.1",
                "-p",
                port,
                "-U",
                "postgres",
                "-c",
                "SELECT 1",
                "app",
            ])
            .env("PGPASSFILE", passfile)
            .output()
            .unwrap()
    };
    assert!(psql(&pgpass).status.success());

    // The program finds the password there as well.
    let file = dev.0.path().join("tcp.toml");
    let url = format!("postgres://postgres@127.0.0.1:{port}/app");
    let text = "[cluster]\nname = \"tcp\"\nshards = 4\ncatalog = \"pg1\"\n[nodes.pg1]\n";
    std::fs::write(&file, format!("{text}url = \"{url}\"\n")).unwrap();
    let plan = |passfile: &Path| {
        let mut command =
            program::command(dev.0.path(), &["--file", file.to_str().unwrap(), "plan"]);
        command.env("PGPASSFILE", passfile).env("HOME", dev.0.path());
        program::run(command)
    };
    assert!(plan(&pgpass).ok().contains("cluster tcp: 4 shards"));
    let error = plan(Path::new("/dev/null")).refused();
    assert!(error.contains("password"), "{error}");
    assert!(!psql(Path::new("/dev/null")).status.success());
}

#[test]
fn a_folder_that_the_servers_cannot_use_is_no_obstacle() {
    let dev = Dev::new();
    // Too long for a socket, and closed to everybody else.
    let deep = dev.0.path().join("a".repeat(60)).join("b".repeat(60));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::set_permissions(
        deep.parent().unwrap(),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let run = dev.run_in(&deep, &["dev", "up", "--nodes", "1"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    dev.run_in(&deep, &["apply", "--yes"]).ok();
    assert!(deep.join(".shardid/log/pg1.log").exists());
    let state = std::fs::read_to_string(deep.join(".shardid/servers.json")).unwrap();
    let home =
        state.split('"').find(|part| part.starts_with("/var/tmp/shardid-dev-")).unwrap().to_owned();
    dev.run_in(&deep, &["dev", "down", "--delete"]).ok();
    assert!(!Path::new(&home).exists() && !deep.join(".shardid").exists());
}

#[test]
fn a_server_without_the_extension_is_refused_with_the_command_that_installs_it() {
    let dev = Dev::new();
    // A pg_config of a server that has no shardid.
    let fake = dev.0.path().join("pg_config");
    let bin = Installation::get().program("postgres");
    let bin = bin.parent().unwrap().display();
    std::fs::write(
        &fake,
        format!("#!/bin/sh\ncase $1 in --bindir) echo {bin} ;; *) echo /nonexistent ;; esac\n"),
    )
    .unwrap();
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let error = dev.run(&["dev", "up", "--pg-config", fake.to_str().unwrap()]).refused();
    assert!(
        error.contains("the extension shardid is not installed in the PostgreSQL at"),
        "{error}"
    );
    assert!(error.contains("hint: `make install PG_CONFIG="), "{error}");
    let error = dev.run(&["dev", "up", "--pg-config", "/nonexistent"]).refused();
    assert!(error.contains("does not lead to a PostgreSQL server"), "{error}");
    assert!(dev.0.path().join(".shardid").read_dir().map_or(0, Iterator::count) == 0);
}
