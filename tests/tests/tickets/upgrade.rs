//! What `apply` makes anew on a server that has an older schema stays whoever's it was.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use crate::on_both_engines;
use crate::servers::{Engine, Servers, may_ask};

on_both_engines! {
    grants_on_routines_are_there_after_an_upgrade,
    who_could_not_give_grants_again_is_refused_before_any_is_gone,
    what_is_left_of_an_earlier_version_is_made_anew_whatever_clients_are_at,
    routines_are_made_by_the_session_that_has_the_lock,
    grants_on_a_routine_that_a_crash_left_missing_are_kept_until_it_is_there,
    a_grant_of_a_user_that_was_renamed_meanwhile_is_named,
}

const GRANTED: &str = "SELECT concat_ws(' ', p.user, p.host, p.routine_type, lower(p.routine_name), p.proc_priv) FROM mysql.procs_priv p WHERE p.db = 'shardid' ORDER BY 1";

const USERS: &str = "SELECT count(*), min(hex(u.user)), max(hex(u.user)) FROM mysql.user u";

/// Has the files from 39 on be run again, as on a server that has not had them yet: the first of them
/// makes `raise_ticket` anew, a later one `adopt_leaving_out`, whose grant is there yet at a cut between.
const OLDER: &str = "DELETE FROM shardid.schema_history WHERE version >= 39";

/// A client that has said something on my1, and is there still.
struct Client(Child);

impl Client {
    fn after(servers: &Servers, sql: &str) -> Self {
        let mut command = servers.client("my1");
        command.arg("--unbuffered").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the client runs");
        let input = child.stdin.as_mut().expect("it is piped");
        writeln!(input, "{sql};").expect("it reads");
        let mut answer = String::new();
        let output = child.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut answer).expect("it answers");
        Self(child)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with grants of every form.
fn granted(engine: Engine) -> (Servers, String) {
    let servers = Servers::start(engine, 1);
    servers.sql(
        "my1",
        "CREATE USER web, 'it''s odd'@'127.0.0.1', 'jürgen'@'localhost' IDENTIFIED BY 'a secret of 1'; CREATE ROLE readers;
         GRANT EXECUTE ON PROCEDURE shardid.next_tickets TO web WITH GRANT OPTION;
         GRANT EXECUTE ON FUNCTION shardid.next_tickets TO web;
         GRANT EXECUTE, ALTER ROUTINE ON FUNCTION shardid.next_id TO 'it''s odd'@'127.0.0.1';
         GRANT ALTER ROUTINE ON PROCEDURE shardid.raise_ticket TO web WITH GRANT OPTION;
         GRANT EXECUTE ON FUNCTION shardid.next_id TO 'jürgen'@'localhost';
         GRANT EXECUTE ON PROCEDURE shardid.adopt_leaving_out TO readers",
    );
    let before = servers.sql("my1", GRANTED);
    assert!(before.lines().count() >= 5, "{before}");
    (servers, before)
}

fn grants_on_routines_are_there_after_an_upgrade(engine: Engine) {
    let (servers, before) = granted(engine);
    let users = servers.sql("my1", USERS);
    servers.sql("my1", OLDER);
    servers.run(&["apply", "--yes"]).ok();
    assert_eq!(servers.sql("my1", GRANTED), before);
    servers.is_clean();
    assert_eq!(servers.sql("my1", USERS), users, "nobody is made");
    // Cut before they are given again, the next one gives them.
    servers.sql("my1", OLDER);
    servers.run_cut("schema/before-grants", &["apply", "--yes"]);
    assert_ne!(servers.sql("my1", GRANTED), before);
    let plan = servers.run(&["plan"]).stdout;
    assert!(plan.contains("my1"), "{plan}");
    // What goes on being granted, is revoked and granted meanwhile is what counts: only what went with the routine
    // that was being made comes back.
    servers.sql("my1", "REVOKE EXECUTE ON PROCEDURE shardid.adopt_leaving_out FROM readers; GRANT EXECUTE ON FUNCTION shardid.next_id TO web");
    // Whoever is gone meanwhile stays so.
    servers.sql("my1", "DROP USER 'it''s odd'@'127.0.0.1'");
    servers.run(&["apply", "--yes"]).ok();
    let revoked = |line: &&str| line.contains("odd") || line.contains("adopt_leaving_out");
    let mut expected: Vec<&str> = before.lines().filter(|line| !revoked(line)).collect();
    expected.push("web % FUNCTION next_id Execute");
    expected.sort_unstable();
    let granted = servers.sql("my1", GRANTED);
    let mut granted: Vec<&str> = granted.lines().collect();
    granted.sort_unstable();
    assert_eq!(granted, expected);
    assert_eq!(servers.sql("my1", "SELECT count(*) FROM shardid.kept_grant"), "0");
    assert_eq!(servers.sql("my1", "SELECT count(*) FROM mysql.user WHERE user LIKE '%odd%'"), "0");
    servers.is_clean();
}

fn who_could_not_give_grants_again_is_refused_before_any_is_gone(engine: Engine) {
    let (servers, before) = granted(engine);
    servers.sql(
        "my1",
        "CREATE USER 'maker'@'localhost'; GRANT ALL ON shardid.* TO 'maker'@'localhost'; GRANT ALL ON app.* TO 'maker'@'localhost';
         SET GLOBAL log_bin_trust_function_creators = 1",
    );
    servers.sql("my1", &may_ask("'maker'@'localhost'"));
    servers.sql("my1", OLDER);
    servers.edit("mysql://root@", "mysql://maker@");
    let error = servers.run(&["apply", "--yes"]).refused();
    let hint = "use a user who may read mysql.procs_priv and mysql.user, and has what is granted WITH GRANT OPTION";
    assert!(error.contains("denied") && error.contains(hint), "{error}");
    servers.sql("my1", "GRANT SELECT ON mysql.procs_priv TO 'maker'@'localhost'; GRANT SELECT ON mysql.user TO 'maker'@'localhost'");
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains("could not be given again") && error.contains(hint), "{error}");
    assert_eq!(servers.sql("my1", GRANTED), before);
    // What is revoked after a try that was refused does not come back.
    assert_eq!(servers.sql("my1", "SELECT count(*) FROM shardid.kept_grant"), "0");
    servers.edit("mysql://maker@", "mysql://root@");
    servers.run(&["apply", "--yes"]).ok();
    assert_eq!(servers.sql("my1", GRANTED), before);
    servers.is_clean();
}

/// All routines were made anew from the first version on where one was missing. Somebody's open transaction stopped that
/// half-way, and the next `apply` looked at names alone: routines of the first versions stayed, which repeat ids.
fn what_is_left_of_an_earlier_version_is_made_anew_whatever_clients_are_at(engine: Engine) {
    let (servers, before) = granted(engine);
    let text = include_str!("../../../sql/mysql/schema/V5__next_ticket.sql");
    let start = text.find("CREATE FUNCTION shardid.next_ticket(").expect("the first version");
    let first = &text[start..start + text[start..].find("\nEND;").expect("its end") + 5];
    servers.sql("my1", "GRANT EXECUTE ON FUNCTION shardid.next_ticket TO web");
    let granted = servers.sql("my1", GRANTED);
    assert_ne!(granted, before);
    servers.sql("my1", &format!("DROP FUNCTION shardid.next_ticket;\nDELIMITER //\n{first}//"));
    servers.sql(
        "my1",
        "GRANT EXECUTE ON FUNCTION shardid.next_ticket TO web; DROP FUNCTION shardid.id_shard",
    );
    let verified = servers.run(&["tickets", "verify"]);
    let words = "missing, or of an earlier version";
    assert!(verified.code != 0 && verified.stdout.contains(words), "{}", verified.stdout);
    let client = Client::after(&servers, "BEGIN; SELECT count(*) FROM shardid.ticket t FOR UPDATE");
    servers.run(&["apply", "--yes"]).ok();
    drop(client);
    assert_eq!(servers.sql("my1", GRANTED), granted);
    let body = "SELECT r.routine_definition LIKE '%take_tickets%' FROM information_schema.routines r WHERE r.routine_schema = 'shardid' AND r.routine_name = 'next_ticket'";
    assert_eq!(servers.sql("my1", body), "1");
    servers.is_clean();
}

/// The session of a program that was killed went on beside the next `apply`, and grants were gone.
fn routines_are_made_by_the_session_that_has_the_lock(engine: Engine) {
    let (servers, before) = granted(engine);
    servers.sql("my1", "DROP FUNCTION shardid.id_shard");
    let other = Client::after(&servers, "SELECT get_lock('shardid.tickets', 0)");
    let error = servers.run(&["apply", "--yes", "--wait-seconds-max", "0"]).refused();
    assert!(error.contains("another program is changing tickets there"), "{error}");
    drop(other);
    servers.run(&["apply", "--yes"]).ok();
    assert_eq!(servers.sql("my1", GRANTED), before);
    servers.is_clean();
}

/// The next `apply` gave again what is on routines that are there, and forgot the rest with it.
fn grants_on_a_routine_that_a_crash_left_missing_are_kept_until_it_is_there(engine: Engine) {
    let (servers, before) = granted(engine);
    // What a server has that is killed between the two statements.
    servers.sql(
        "my1",
        "INSERT INTO shardid.kept_grant SELECT p.user, p.host, p.routine_type, p.routine_name, p.proc_priv FROM mysql.procs_priv p
             WHERE p.db = 'shardid' AND p.routine_name = 'next_id';
         INSERT INTO shardid.kept_grant VALUES ('web', '%', 'FUNCTION', 'of_no_version', 'Execute');
         DROP FUNCTION shardid.next_id",
    );
    assert_ne!(servers.sql("my1", GRANTED), before);
    servers.run(&["apply", "--yes"]).ok();
    assert_eq!(servers.sql("my1", GRANTED), before);
    servers.is_clean();
}

/// It was lost without a word.
fn a_grant_of_a_user_that_was_renamed_meanwhile_is_named(engine: Engine) {
    let (servers, before) = granted(engine);
    servers.sql(
        "my1",
        "INSERT INTO shardid.kept_grant SELECT p.user, p.host, p.routine_type, p.routine_name, p.proc_priv FROM mysql.procs_priv p
             WHERE p.db = 'shardid' AND p.routine_name = 'next_tickets';
         DROP FUNCTION shardid.next_tickets; DROP PROCEDURE shardid.next_tickets; RENAME USER web TO 'web'@'10.0.0.%'",
    );
    let run = servers.run(&["apply", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut given = 0;
    for line in
        run.stderr.lines().filter(|line| line.contains("there is no user 'web'@'%' any more"))
    {
        let (_, statement) = line.split_once("say there: ").expect("it says what to do");
        servers.sql("my1", &statement.replace("its new name", "'web'@'10.0.0.%'"));
        given += 1;
    }
    assert_eq!(given, 2, "{}", run.stderr);
    let expected = before.replace("web %", "web 10.0.0.%");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&servers.sql("my1", GRANTED)), sorted(&expected));
    servers.is_clean();
}
