//! Help, completions and man pages.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::program::{self, Run};

fn run(arguments: &[&str]) -> Run {
    program::run(program::command(&std::env::temp_dir(), arguments))
}

/// Every command there is, by the help itself.
fn commands() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while next < found.len() {
        let path = found[next].clone();
        next += 1;
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("-h");
        let help = run(&arguments).ok();
        let listed = help
            .lines()
            .skip_while(|line| *line != "Commands:")
            .skip(1)
            .take_while(|line| !line.is_empty());
        for line in listed {
            let name = line.split_whitespace().next().unwrap().to_owned();
            found.push(path.iter().cloned().chain([name]).collect());
        }
    }
    found
}

#[test]
fn short_help_fits_a_screen_and_long_help_says_more() {
    let all = commands();
    assert!(all.len() > 12, "{all:?}");
    for command in all {
        let with = |flag: &str| {
            let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            arguments.push(flag);
            run(&arguments).ok()
        };
        let (short, long) = (with("-h"), with("--help"));
        // The list of all commands is as long as it is.
        let listed = short.lines().skip_while(|line| *line != "Commands:");
        let listed = listed.take_while(|line| !line.is_empty()).count();
        assert!(short.lines().count() - listed <= 20, "{command:?}\n{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 100), "{command:?}\n{short}");
        assert!(long.len() > short.len(), "{command:?}");
    }
}

#[test]
fn completions_are_scripts_that_their_shells_read() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).ok();
        assert!(script.contains("shardid") && script.contains("apply"), "{shell}");
        if !["bash", "zsh", "fish"].contains(&shell)
            || Command::new(shell).arg("--version").output().is_err()
        {
            continue;
        }
        let mut check = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        check.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(check.wait().unwrap().success(), "{shell}");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    run(&["man", folder.path().to_str().unwrap()]).ok();
    for command in commands() {
        let name: String = [vec!["shardid".to_owned()], command].concat().join("-");
        let page = std::fs::read_to_string(folder.path().join(format!("{name}.1"))).expect(&name);
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
    }
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    for arguments in [
        &["bogus"][..],
        &["id", "next", "x"],
        &["id", "next", "1,2"],
        &["apply", "--yes", "--dry-run"],
        &[],
    ] {
        assert_eq!(run(arguments).code, 2, "{arguments:?}");
    }
}
