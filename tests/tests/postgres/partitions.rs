//! Partitions by the time in ids: without holes, whatever the calendar does, and
//! pruned by id_at.

use shardid_tests::Database;
use shardid_tests::postgres::Client;

use crate::ask::{column, one, run, with_shard_5};
use crate::errors::refuses;

/// A database with table `t`, partitioned by `id`.
fn database() -> Database<'static> {
    let database = with_shard_5();
    database
        .psql("CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5)) PARTITION BY RANGE (id)");
    database
}

/// Makes partitions of `t` and returns the names of the new ones.
#[track_caller]
fn create(client: &mut Client, from: &str, until: &str, every: &str) -> Vec<String> {
    column(
        client,
        &format!("SELECT create_id_partitions('t', '{from}', '{until}', '{every}')::text"),
    )
}

/// Asserts that a row of every ten minutes of a range has its partition.
#[track_caller]
fn has_no_hole(client: &mut Client, from: &str, until: &str) {
    run(
        client,
        &format!(
            "TRUNCATE t; INSERT INTO t SELECT id_at(x) FROM \
                 generate_series('{from}'::timestamptz, '{until}'::timestamptz - interval '10 min', '10 min') x"
        ),
    );
}

#[test]
fn months_have_their_length_and_those_that_exist_are_skipped() {
    let database = database();
    let mut client = database.connect();
    run(&mut client, "SET timezone = 'Europe/Berlin'");
    let first = create(&mut client, "2026-01-31", "2026-05-01", "1 month");
    assert_eq!(first, ["t_p20260131", "t_p20260228", "t_p20260331", "t_p20260430"]);
    has_no_hole(&mut client, "2026-01-31", "2026-05-31");
    assert_eq!(create(&mut client, "2026-01-31", "2026-05-01", "1 month"), Vec::<String>::new());
    assert_eq!(create(&mut client, "2026-01-31", "2026-06-01", "1 month"), ["t_p20260531"]);
    has_no_hole(&mut client, "2026-01-31", "2026-06-30");
    // Each begins at midnight in Berlin, winter and summer.
    let bounds: Vec<String> = column(
        &mut client,
        "SELECT to_char(id_time((regexp_match(pg_get_expr(relpartbound, oid), 'FROM \\(''(\\d+)'))[1]::bigint), 'YYYY-MM-DD HH24:MI') \
         FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY relname",
    );
    assert_eq!(
        bounds,
        [
            "2026-01-31 00:00",
            "2026-02-28 00:00",
            "2026-03-31 00:00",
            "2026-04-30 00:00",
            "2026-05-31 00:00"
        ]
    );
}

#[test]
fn no_hour_is_left_out_where_the_clocks_change() {
    let database = database();
    let mut client = database.connect();
    run(&mut client, "SET timezone = 'Europe/Berlin'");
    // 25 hours in October, 23 in March.
    for (before, day, after, hours, first) in [
        ("2026-10-24", "2026-10-25", "2026-10-26", 25, "t_p20261024_2200z"),
        ("2027-03-27", "2027-03-28", "2027-03-29", 23, "t_p20270327_2300z"),
    ] {
        let made = create(&mut client, day, after, "1 hour");
        assert_eq!(made.len(), hours);
        // In the names of UTC, where no hour comes twice.
        assert_eq!(made[0], first);
        has_no_hole(&mut client, day, after);
        for every in ["1 day", "24 hours", "90 min", "1 day 12:00", "1 week", "30 min"] {
            run(
                &mut client,
                "DROP TABLE t; CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY RANGE (id)",
            );
            create(&mut client, before, after, every);
            has_no_hole(&mut client, before, after);
        }
        run(
            &mut client,
            "DROP TABLE t; CREATE TABLE t (id bigint PRIMARY KEY) PARTITION BY RANGE (id)",
        );
    }
    create(&mut client, "2026-10-25 00:00", "2026-10-25 00:00:01", "100 ms");
    assert_eq!(
        one::<i64>(&mut client, "SELECT count(*) FROM pg_inherits WHERE inhparent = 't'::regclass"),
        10
    );
}

#[test]
fn partitions_may_be_of_another_layout_and_of_a_table_with_any_name() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(5, layout => 'decimal19'); CREATE SCHEMA \"Ödd schema\"; \
         CREATE TABLE \"Ödd schema\".\"Ödd \"\"table\" (id bigint DEFAULT next_id(5), t timestamptz DEFAULT clock_timestamp()) PARTITION BY RANGE (id)",
    );
    let table = "\"Ödd schema\".\"Ödd \"\"table\"";
    let made: Vec<String> = column(
        &mut client,
        &format!(
            "SELECT create_id_partitions('{table}', current_date, current_date + 2, '1 day', 'decimal19')::text"
        ),
    );
    assert_eq!(made.len(), 2);
    run(&mut client, &format!("INSERT INTO {table} SELECT FROM generate_series(1, 100)"));
    assert_eq!(one::<i64>(&mut client, &format!("SELECT count(*) FROM {}", made[0])), 100);
}

#[test]
fn the_planner_prunes_by_id_at() {
    let database = database();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_id_partitions('t', current_date - 9, current_date + 1, '1 day'); INSERT INTO t DEFAULT VALUES; SET enable_bitmapscan = off",
    );
    let plan = |client: &mut Client, condition: &str| -> String {
        column::<String>(client, &format!("EXPLAIN (COSTS OFF) SELECT * FROM t WHERE {condition}"))
            .join("\n")
    };
    let scans = |plan: &str| plan.matches(" on t_p").count();
    let day: String = one(&mut client, "SELECT (current_date - 3)::text");
    let next: String = one(&mut client, "SELECT (current_date - 2)::text");
    let constant = plan(&mut client, &format!("id >= id_at('{day}') AND id < id_at('{next}')"));
    assert_eq!(scans(&constant), 1, "{constant}");
    for condition in [
        "id >= id_at(now() - interval '1 day')",
        "id >= id_at(now() - interval '1 day', 'instagram')",
    ] {
        let when_run = plan(&mut client, condition);
        assert!(when_run.contains("Subplans Removed: 8"), "{when_run}");
        assert_eq!(scans(&when_run), 2, "{when_run}");
    }
    // And finds the row that has just been put there.
    assert_eq!(
        one::<i64>(
            &mut client,
            "SELECT count(*) FROM t WHERE id >= id_at(now() - interval '1 hour')"
        ),
        1
    );
}

#[test]
fn what_would_leave_a_hole_or_make_no_sense_is_refused_and_makes_nothing() {
    let database = database();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE TABLE plain (id bigint); CREATE TABLE by_list (id bigint) PARTITION BY LIST (id); \
         CREATE TABLE two (id bigint, n int) PARTITION BY RANGE (id, n); CREATE TABLE texts (id text) PARTITION BY RANGE (id); \
         CREATE TABLE by_expression (id bigint) PARTITION BY RANGE ((id / 2)); \
         CREATE TABLE a_name_that_leaves_no_room_for_the_names_of_its_partitions (id bigint) PARTITION BY RANGE (id); \
         SELECT create_id_partitions('t', '2026-12-01', '2026-12-03', '1 day'); CREATE TABLE t_p20270105 (id bigint)",
    );
    refuses(
        &mut client,
        r#"
        42809 | SELECT create_id_partitions('plain', '2026-12-01', '2026-12-03', '1 day')         | plain + range of one bigint column   | PARTITION BY RANGE (id)
        42809 | SELECT create_id_partitions('by_list', '2026-12-01', '2026-12-03', '1 day')       | by_list + range                      | PARTITION BY RANGE (id)
        42809 | SELECT create_id_partitions('two', '2026-12-01', '2026-12-03', '1 day')           | two + range                          | PARTITION BY RANGE (id)
        42809 | SELECT create_id_partitions('texts', '2026-12-01', '2026-12-03', '1 day')         | texts + bigint                       | PARTITION BY RANGE (id)
        42809 | SELECT create_id_partitions('by_expression', '2026-12-01', '2026-12-03', '1 day') | by_expression + column               | PARTITION BY RANGE (id)
        42P01 | SELECT create_id_partitions('nothing', '2026-12-01', '2026-12-03', '1 day')       | "nothing"                            |
        42622 | SELECT create_id_partitions('a_name_that_leaves_no_room_for_the_names_of_its_partitions', '2026-12-01', '2026-12-03', '1 day') | too long + a_name_that_leaves_no_room_for_the_names_of_its_partitions_p20261201 | ALTER TABLE
        22023 | SELECT create_id_partitions('t', '2026-12-03', '2026-12-03', '1 day')             | 2026-12-03                           | later
        22023 | SELECT create_id_partitions('t', '2026-12-03', '2026-12-01', '1 day')             | 2026-12-03 + 2026-12-01              | later
        22023 | SELECT create_id_partitions('t', '2026-12-03', '2026-12-05', '0')                 | longer than 00:00:00                 | interval '1 day'
        22023 | SELECT create_id_partitions('t', '2026-12-03', '2026-12-05', '-1 day')            | longer than -1 days                  | interval '1 day'
        22008 | SELECT create_id_partitions('t', '-infinity', '2026-12-05', '1 day')              | -infinity                            | two instants
        22008 | SELECT create_id_partitions('t', '2026-12-03', 'infinity', '1 day')               | infinity                             | two instants
        22003 | SELECT create_id_partitions('t', '2025-11-01', '2026-03-01', '1 month')           | "instagram" + 2025-11-01             | epoch
        22003 | SELECT create_id_partitions('t', '2026-11-01', '2026-11-01 00:00:01', '100 us')   | "instagram"                          | tick
        22003 | SELECT create_id_partitions('t', '2060-10-01', '2060-12-01', '1 month')           | "instagram"                          | ends_at
        42704 | SELECT create_id_partitions('t', '2026-12-03', '2026-12-05', '1 day', 'nope')     | layout "nope"                        | create_layout(
        -- days are there: the month of that name would be skipped, and 29 days missing
        42P07 | SELECT create_id_partitions('t', '2026-12-01', '2027-02-01', '1 month')           | public.t_p20261201                   | one length
        42P17 | SELECT create_id_partitions('t', '2026-11-15', '2027-01-01', '1 month')           | overlap                              |
        42P07 | SELECT create_id_partitions('t', '2026-12-02 00:00:05', '2026-12-08', '1 day')    | public.t_p20261202                   | date_trunc('day', now())
        -- a table that only has the name
        42P07 | SELECT create_id_partitions('t', '2027-01-01', '2027-01-10', '1 day')             | public.t_p20270105                   | one length
        "#,
    );
    // A role that may do much with the table, but does not own it, may not give it partitions.
    let role = database.role("app");
    run(&mut client, &format!("GRANT ALL ON t TO {role}; GRANT CREATE ON SCHEMA public TO {role}"));
    refuses(
        &mut database.connect_as(&role),
        "42501 | SELECT create_id_partitions('t', '2027-02-01', '2027-02-03', '1 day') | must be owner |",
    );
    // The month before the first day of the epoch is refused, the month with the epoch in it is not.
    run(&mut client, "SELECT create_id_partitions('t', '2025-12-20', '2026-01-10', '1 month')");
}
