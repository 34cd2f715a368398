//! A shard of very many tables is moved within the fence that any other is.

use std::time::Duration;

use shardid_tests::crowded;
use shardid_tests::estate::{Estate, schema};

/// Behind the fence each table was compared with each trigger of it: of 1,000 tables that took 2 s, and of 3,000 40 s.
#[test]
fn a_shard_of_a_thousand_tables_is_moved_within_the_usual_fence() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    let schema = schema(shard);
    for from in [1, 501] {
        let tables: String = (from..from + 500)
            .map(|n| {
                format!("CREATE TABLE {schema}.many{n} (id bigint PRIMARY KEY, a text, b int);")
            })
            .collect();
        estate.psql("pg1", &tables);
    }
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let longest = |state: &str| -> f64 {
        let seconds = estate.psql(
            "pg1",
            &format!(
                "SELECT max(extract(epoch FROM until - since)) FROM (
                     SELECT state, since, lead(since) OVER (ORDER BY since) AS until FROM shardid.move_log) AS t
                  WHERE state = '{state}'"
            ),
        );
        seconds.parse().expect("it was in that state")
    };
    let most = crowded(Duration::from_millis(1500)).as_secs_f64();
    assert!(longest("fenced") < most, "fenced for {} s", longest("fenced"));
    assert_eq!(estate.home(shard), "pg2");
}
