//! The documentation is true: its blocks run, and the reference names everything that is there.

mod reference;

use std::collections::BTreeSet;

use shardid_tests::docs;

/// One test for each page, so that they run side by side and are told apart.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];

        mod every_block_does_what_the_page_says {
            $(#[test]
            fn $name() {
                shardid_tests::docs::check($path);
            })*
        }
    };
}

pages! {
    readme: "README.md",
    clocks: "docs/clocks.md",
    cluster: "docs/cluster.md",
    durability: "docs/durability.md",
    ids_in_tables: "docs/ids-in-tables.md",
    install: "docs/install.md",
    layouts: "docs/layouts.md",
    limits: "docs/limits.md",
    moving_a_shard: "docs/moving-a-shard.md",
    mysql: "docs/mysql.md",
    mysql_reference: "docs/mysql-reference.md",
    outside_faces: "docs/outside-faces.md",
    privileges: "docs/privileges.md",
    sql_reference: "docs/sql-reference.md",
    tickets: "docs/tickets.md",
    time_ranges: "docs/time-ranges.md",
    when_a_move_stops: "docs/when-a-move-stops.md",
}

#[test]
fn every_block_of_all_other_pages_does_what_the_page_says() {
    let named: BTreeSet<&str> = PAGES.iter().copied().collect();
    let all = docs::pages();
    for page in all.iter().filter(|page| !named.contains(page.as_str())) {
        docs::check(page);
    }
    for page in named {
        assert!(all.iter().any(|found| found == page), "{page} is gone");
    }
}

#[test]
fn every_command_of_the_program_is_on_a_page() {
    let pages = [
        "docs/cluster.md",
        "docs/moving-a-shard.md",
        "docs/tickets.md",
        "docs/when-a-move-stops.md",
    ]
    .map(docs::read)
    .concat();
    for command in commands(&[]) {
        let known = format!("shardid {command}");
        assert!(pages.contains(&known), "no page has `{known}`");
    }
    for command in
        commands(&["id"]).iter().chain(&commands(&["dev"])).chain(&commands(&["tickets"]))
    {
        assert!(pages.contains(&format!(" {command}")), "no page has `{command}`");
    }
}

/// The commands that the program lists in its help.
fn commands(below: &[&str]) -> Vec<String> {
    let output = docs::program().args(below).arg("--help").output().expect("it is built");
    let help = String::from_utf8(output.stdout).expect("help is text");
    let found: Vec<String> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(!found.is_empty(), "no commands in {help}");
    found
}

#[test]
fn a_page_that_is_right_passes() {
    let blocks = docs::Runner::default().run(
        "page.md",
        "<!-- sql\nCREATE EXTENSION shardid;\n-->\n\n\
         ```sql\nSELECT create_shard(5);\nCREATE TABLE t (id bigint DEFAULT next_id(5));\nSET shardid.shard = 5;\n```\n\n\
         ```sql\nINSERT INTO t DEFAULT VALUES;\nSELECT id, id_time(id), id = last_id() AS last FROM t;\nSHOW shardid.shard;\n```\n\n\
         ```text example\n id | id_time | last\n----+---+---\n 235086380428956672 | 2026-11-21 08:34:40.394+00 | t\n(1 row)\n shardid.shard\n---\n 5\n(1 row)\n```\n\n\
         ```sql\nSELECT next_id(9);\n```\n\n```text\nERROR:  shard 9 does not exist in this database\nHINT:  …\n```\n\n\
         ```console\n$ psql -Atc 'SELECT count(*) FROM t'\n1\n$ psql -c 'SELECT next_id(9)'\nERROR:  shard 9 …\n…\n$ cd /; n=3\n$ echo $PWD $n\n/ 3\n$ make test ONLY=docs\n```\n",
    );
    assert_eq!(blocks, Ok(5));
}

#[test]
fn a_page_that_is_wrong_fails_with_its_line() {
    let runner = docs::Runner::default();
    let fault = |page: &str| runner.run("page.md", page).expect_err("the page is wrong");

    let refused = fault("Prose\n\n```sql\nSELECT 1;\nSELECT 1/0;\n```\n");
    assert!(refused.starts_with("page.md:4: this block fails:"), "{refused}");
    assert!(refused.contains("division by zero"), "{refused}");

    let other = fault("```sql\nSELECT 1 AS n;\n```\n\n```text\n n\n---\n 2\n(1 row)\n```\n");
    assert!(other.starts_with("page.md:6: the page shows"), "{other}");

    let succeeds = fault("```sql\nSELECT 1;\n```\n\n```text\nERROR:  …\n```\n");
    assert!(succeeds.starts_with("page.md:6: the page shows"), "{succeeds}");

    let command = fault("```console\n$ true\n$ false\n```\n");
    assert!(command.starts_with("page.md:3: this command fails: false"), "{command}");

    let success = fault("```console\n$ echo error: no\nerror: no\n```\n");
    assert!(success.starts_with("page.md:2: this command does not fail"), "{success}");

    let printed = fault("```console\n$ echo 1\n2\n```\n");
    assert!(printed.starts_with("page.md:3: the page shows"), "{printed}");

    let target = fault("```console\n$ make dinner\n```\n");
    assert_eq!(target, "page.md:2: the Makefile has no target dinner");

    let ended = fault("```console\n$ exit 0\n```\n");
    assert!(ended.starts_with("page.md:2: the shell ended"), "{ended}");

    let ignored = fault("```sh\nls\n```\n");
    assert!(ignored.starts_with("page.md:1: a block of \"sh\" cannot be run"), "{ignored}");
}
