//! The cluster file as a user gets it wrong.

use crate::cluster::Cluster;
use crate::program;

#[test]
fn init_writes_a_file_that_plan_can_read_and_never_overwrites_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| program::run(program::command(folder.path(), arguments));
    let missing = run(&["plan"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("there is no shardid.toml here"), "{}", missing.stderr);
    assert!(missing.stderr.contains("`shardid init`"), "{}", missing.stderr);
    run(&["init"]).ok();
    let file = folder.path().join("shardid.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("# mine\n{text}")).unwrap();
    let error = run(&["init"]).refused();
    assert!(error.contains("shardid.toml is there already"), "{error}");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("# mine"));
    // It names servers of nobody, so let it name the time to wait as well.
    let quick = text.replace("/photos\"", "/photos?connect_timeout=1\"");
    std::fs::write(&file, quick.replace("10.0.0.1", "127.0.0.1:1")).unwrap();
    let error = run(&["plan"]).refused();
    assert!(
        error.contains("could not reach node pg1") && error.contains("could not reach node pg2"),
        "{error}"
    );
}

#[test]
fn a_mistake_is_shown_with_its_line_and_key() {
    let cluster = Cluster::of(1, 4);
    cluster.edit("shards = 4", "shards = \"many\"");
    let run = cluster.run(&["plan"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("shardid.toml:3: cluster.shards: found string \"many\", expected a whole number of shards"), "{}", run.stderr);
}

#[test]
fn a_password_comes_from_the_environment_and_is_shown_nowhere() {
    let cluster = Cluster::of(1, 4);
    let url = cluster.nodes[0].url();
    let port = cluster.nodes[0].server().port();
    cluster.edit(&url, &url.replace("postgres@", "postgres:s3cret@"));
    let run = cluster.run(&["plan"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nodes.pg1.url: a password stands in this file"), "{}", run.stderr);
    assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);

    cluster.edit("s3cret", "${PG1_PASSWORD}");
    let run = cluster.run(&["plan"]);
    assert!(run.stderr.contains("environment variable PG1_PASSWORD is not set"), "{}", run.stderr);
    let with = |arguments: &[&str]| {
        let mut command = cluster.command(arguments);
        command.env("PG1_PASSWORD", "s3c/r@t:?");
        program::run(command)
    };
    let said: Vec<_> = [
        with(&["apply", "--yes"]),
        with(&["status", "--json"]),
        with(&["map", "--format", "pgdog"]),
        {
            cluster.edit(&format!(":{port}"), ":1");
            with(&["plan"])
        },
        with(&["status", "--json"]),
    ]
    .into_iter()
    .collect();
    assert_eq!(said[0].code, 0, "{said:?}");
    assert_eq!(said[3].code, 1, "{said:?}");
    let secret = |text: &str| text.contains("s3c") || text.contains("%40t");
    assert!(said.iter().all(|run| !secret(&run.stdout) && !secret(&run.stderr)), "{said:?}");
    assert!(cluster.rows().iter().all(|row| !secret(row)));
}

#[test]
fn a_service_file_says_where_a_node_is() {
    let cluster = Cluster::of(1, 4);
    let node = &cluster.nodes[0];
    let services = cluster.folder().join("services");
    std::fs::write(
        &services,
        format!(
            "[photos1]\nhost={}\nport={}\ndbname={}\nuser=postgres\n",
            node.server().folder().display(),
            node.server().port(),
            node.name()
        ),
    )
    .unwrap();
    cluster.edit(&node.url(), "postgres:///?service=photos1");
    let mut apply = cluster.command(&["apply", "--yes"]);
    apply.env("PGSERVICEFILE", &services);
    program::run(apply).ok();
    assert_eq!(node.psql("SELECT count(*) FROM shardid.shards"), "4");
    let mut plan = cluster.command(&["plan"]);
    plan.env("PGSERVICEFILE", cluster.folder().join("nothing"));
    let run = program::run(plan);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("there is no service photos1"), "{}", run.stderr);
}
