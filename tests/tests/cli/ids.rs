//! Ids by hand, against what the server says of them.

use crate::cluster::Cluster;
use crate::program;

#[test]
fn ids_come_from_the_node_of_their_shard_and_rise() {
    let cluster = Cluster::applied(2, 4);
    let text = cluster.run(&["id", "next", "3", "--count", "3000"]).ok();
    let ids: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ids.len(), 3000);
    assert!(ids.is_sorted_by(|a, b| a < b));
    let last = cluster.nodes[1].psql("SELECT last_id FROM shardid.shards WHERE shard = 3");
    assert!(last.parse::<i64>().unwrap() >= *ids.last().unwrap());
    let error = cluster.run(&["id", "next", "4"]).refused();
    assert!(
        error.contains("cluster photos has no shard 4") && error.contains("its shards are 0 to 3"),
        "{error}"
    );
}

#[test]
fn the_program_reads_ids_as_the_server_does() {
    let cluster = Cluster::applied(1, 4);
    let pg1 = &cluster.nodes[0];
    let id = cluster.run(&["id", "next", "2"]).ok().trim().to_owned();
    let server = pg1.psql(&format!(
        "SELECT to_char(id_time({id}) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), id_shard({id}), id_slot({id})"
    ));
    let text = pg1.psql(&format!("SELECT id_text({id})"));
    for form in [&id, &text, &text.to_lowercase()] {
        let decoded = cluster.run(&["id", "decode", form]).ok();
        let line: Vec<&str> = decoded.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(line[0], id);
        assert_eq!(line[1..].join("|"), server);
    }
    for time in ["2026-11-21T08:30:00Z", "2030-02-28T23:59:59.999Z", "2020-01-01T00:00:00Z"] {
        let here = cluster.run(&["id", "at", time]).ok();
        assert_eq!(here.trim(), pg1.psql(&format!("SELECT id_at('{time}')")), "{time}");
    }
}

#[test]
fn built_in_layouts_need_no_server_and_no_file() {
    let nowhere = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| program::run(program::command(nowhere.path(), arguments));
    // The worked example of Wikipedia's "Snowflake ID".
    let text =
        run(&["id", "decode", "--json", "--layout", "snowflake", "1541815603606036480"]).ok();
    assert!(text.contains("\"time\": \"2022-06-28T16:07:40.105Z\""), "{text}");
    assert!(text.contains("\"shard\": 378"), "{text}");
    assert_eq!(run(&["id", "at", "2026-01-01T00:00:00.001Z"]).ok(), "8388608\n");
    let error = run(&["id", "at", "2100-01-01"]).refused();
    assert!(error.contains("lasts from 2026-01-01T00:00:00.000Z to 2060-11-03"), "{error}");
    let error = run(&["id", "decode", "-5"]).refused();
    assert!(error.contains("-5 is no id of layout instagram: id -5 is negative"), "{error}");
    let error = run(&["id", "decode", "--layout", "nope", "5"]).refused();
    assert!(error.contains("there is no layout nope"), "{error}");
    assert_eq!(run(&["id", "at", "yesterday"]).code, 2);
    assert_eq!(run(&["id", "next", "5"]).code, 2, "there is no cluster file");
}
