//! The harness does what it says, on a server without the extension.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use shardid_tests::{Clock, Database, Server, expect_error, wait_until};

/// Seconds since 1970 by `clock_timestamp()`, in a session that goes on.
fn clock_of(client: &mut shardid_tests::postgres::Client) -> f64 {
    client
        .query_one("SELECT extract(epoch FROM clock_timestamp())::float8", &[])
        .expect("the server answers")
        .get(0)
}

#[test]
fn each_database_is_new_and_gone_at_the_end() {
    let name = {
        let database = Database::fresh_plain();
        let mut client = database.connect();
        client.batch_execute("CREATE TABLE t (id bigint)").expect("it is empty");
        database.name().to_owned()
    };
    let sql = format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
    assert_eq!(shardid_tests::shared().psql("postgres", &sql), "0");
}

#[test]
fn an_error_is_told_in_all_its_parts() {
    let database = Database::fresh_plain();
    let refusal = expect_error(
        &mut database.connect(),
        "DO $$ BEGIN RAISE 'no' USING ERRCODE = 'SI001', DETAIL = 'facts', HINT = 'try'; END $$",
        "SI001",
    );
    assert_eq!(
        (refusal.message.as_str(), refusal.detail.as_str(), refusal.hint.as_str()),
        ("no", "facts", "try")
    );
}

#[test]
fn a_server_goes_on_after_a_crash_with_what_was_committed() {
    let server = Server::start_new();
    server.psql("postgres", "CREATE TABLE t AS SELECT 1 AS n");
    let data = server.data();
    server.kill9();
    assert!(server.try_connect("postgres").is_err());
    assert!(data.join("postmaster.pid").exists(), "nothing tidied up");
    server.start();
    assert_eq!(server.psql("postgres", "SELECT n FROM t"), "1");
    assert!(server.log().contains("database system was not properly shut down"));
    assert_eq!(server.psql("postgres", "SHOW data_checksums"), "on");
}

#[test]
fn a_server_killed_in_its_recovery_recovers_the_next_time() {
    let server = Server::start_new();
    server.psql("postgres", "CREATE TABLE t AS SELECT 1 AS n");
    server.kill9();
    for millis in [5, 20, 60] {
        server.start_and_kill9(Duration::from_millis(millis));
        assert!(!server.is_running());
    }
    server.start();
    assert_eq!(server.psql("postgres", "SELECT n FROM t"), "1");
}

#[test]
fn a_server_killed_while_it_wrote_its_lock_files_starts_again() {
    let server = Server::start_new();
    server.kill9();
    let socket = format!(".s.PGSQL.{}.lock", server.port());
    for lock in [server.data().join("postmaster.pid"), server.folder().join(socket)] {
        std::fs::write(lock, "").unwrap();
    }
    server.start();
    assert_eq!(server.psql("postgres", "SELECT 1"), "1");
}

#[test]
fn a_killed_backend_makes_the_server_recover() {
    let server = Server::start_new();
    let mut client = server.connect("postgres");
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    server.kill9_backend(pid);
    wait_until(Duration::from_secs(30), "the recovery", || {
        server.log().matches("ready to accept connections").count() == 2
    });
    assert_eq!(server.psql("postgres", "SELECT 1"), "1");
}

#[test]
fn a_setting_reaches_new_sessions_and_survives_a_restart() {
    let server = Server::builder().conf("work_mem = '5MB'").start();
    assert_eq!(server.psql("postgres", "SHOW work_mem"), "5MB");
    server.set_conf("work_mem = '6MB'");
    assert_eq!(server.psql("postgres", "SHOW work_mem"), "6MB");
    server.restart();
    assert_eq!(server.psql("postgres", "SHOW work_mem"), "6MB");
}

#[test]
fn two_servers_have_two_identities() {
    let sql = "SELECT system_identifier FROM pg_control_system()";
    let one = Server::start_new();
    let two = Server::start_new();
    assert_ne!(one.psql("postgres", sql), two.psql("postgres", sql));
}

#[test]
fn a_running_backend_sees_its_clock_step() {
    let server = Server::builder().clock(Clock::Steerable).start();
    let mut client = server.connect("postgres");
    let before = clock_of(&mut client);
    server.set_clock(-3600.0);
    let back = clock_of(&mut client);
    assert!((-3600.0..-3590.0).contains(&(back - before)), "{before} to {back}");
    server.set_clock(86_400.5);
    let forward = clock_of(&mut client);
    assert!((86_400.5..86_410.0).contains(&(forward - before)), "{before} to {forward}");
}

#[test]
fn a_timeout_fires_in_a_session_whose_clock_is_behind() {
    let server = Server::builder().clock(Clock::Steerable).start();
    let mut client = server.connect("postgres");
    client.batch_execute("SET statement_timeout = '200ms'").expect("it is a setting");
    server.set_clock(-3600.0);
    expect_error(&mut client, "SELECT pg_sleep(60)", "57014");
}

#[test]
fn a_server_comes_back_with_the_clock_it_is_started_with() {
    let server = Server::builder().clock(Clock::AtStart).start();
    let mut client = server.connect("postgres");
    let before = clock_of(&mut client);
    server.set_clock(-7200.0);
    let still = clock_of(&mut client);
    assert!((0.0..10.0).contains(&(still - before)), "{before} to {still}");
    server.kill9();
    server.start();
    let after = clock_of(&mut server.connect("postgres"));
    assert!((-7200.0..-7100.0).contains(&(after - before)), "{before} to {after}");
}

#[test]
fn a_standby_follows_and_takes_over_with_a_clock_of_its_own() {
    let primary = Server::builder().name("primary").start();
    let standby =
        Server::builder().name("standby").clock(Clock::Steerable).start_standby_of(&primary);
    standby.set_clock(-60.0);
    primary.psql("postgres", "CREATE TABLE t AS SELECT 1 AS n");
    primary.wait_for(&standby);
    assert_eq!(standby.psql("postgres", "SELECT n FROM t"), "1");
    expect_error(&mut standby.connect("postgres"), "INSERT INTO t VALUES (2)", "25006");
    let ahead = clock_of(&mut primary.connect("postgres"));
    let behind = clock_of(&mut standby.connect("postgres"));
    assert!((-60.0..-50.0).contains(&(behind - ahead)), "{ahead} and {behind}");
    primary.kill9();
    standby.promote();
    standby.psql("postgres", "INSERT INTO t VALUES (2)");
}

/// Run by the test below, in a program that is then killed.
#[test]
#[ignore = "never ends; a_killed_test_program_leaves_nothing_behind runs it"]
fn a_server_that_nobody_stops() {
    let server = Server::start_new();
    let crashed = Server::start_new();
    crashed.kill9();
    println!("\nfolders {} {}", server.data().display(), crashed.data().display());
    let mut client = server.connect("postgres");
    client.batch_execute("SELECT pg_sleep(600)").expect("we are killed before");
}

#[test]
fn a_killed_test_program_leaves_nothing_behind() {
    // By this name it is found also when it was built anew in the meantime.
    let mut program = Command::new("/proc/self/exe")
        .args(["--ignored", "--exact", "harness::a_server_that_nobody_stops"])
        .arg("--nocapture")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be run");
    let line = BufReader::new(program.stdout.take().expect("its output is a pipe"))
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("folders ").map(str::to_owned))
        .expect("it names its folders");
    let folders: Vec<&Path> = line.split(' ').map(Path::new).collect();
    let (running, crashed) = (PidFile::read(folders[0]), PidFile::read(folders[1]));
    assert!(running.has_process() && running.has_memory() && crashed.has_memory());
    program.kill().expect("it is our child");
    program.wait().expect("it is our child");
    let top = folders[0].ancestors().nth(2).expect("it is TOP/1/data");
    wait_until(Duration::from_secs(30), "the folder to go", || !top.exists());
    // A process that ended is listed until its parent, which is now the
    // system's first, has asked how.
    wait_until(Duration::from_secs(30), "the server to end", || !running.has_process());
    assert!(!running.has_memory(), "the running server's memory stays");
    assert!(!crashed.has_memory(), "the crashed server's memory stays");
}

/// What a server writes down about itself in `postmaster.pid`.
struct PidFile(Vec<String>);

impl PidFile {
    fn read(data: &Path) -> Self {
        let text = fs::read_to_string(data.join("postmaster.pid")).expect("a server is here");
        Self(text.lines().map(str::to_owned).collect())
    }

    fn has_process(&self) -> bool {
        Path::new("/proc").join(&self.0[0]).exists()
    }

    /// Whether its System V memory is still there.
    fn has_memory(&self) -> bool {
        let id = self.0[6].split_whitespace().nth(1).expect("a key and a number");
        fs::read_to_string("/proc/sysvipc/shm")
            .expect("the kernel lists them")
            .lines()
            .any(|line| line.split_whitespace().nth(1) == Some(id))
    }
}
