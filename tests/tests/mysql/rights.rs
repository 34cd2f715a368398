//! Who may do what: taking numbers needs EXECUTE on the function, and nothing else.

use shardid_tests::docs;
use shardid_tests::my::{Engine, expect_refused, query, shared};
use shardid_tests::on_both_engines;

use crate::harness::new_shard;

on_both_engines!(
    a_user_takes_numbers_with_execute_alone,
    every_object_has_a_comment_and_its_security,
    the_reference_page_has_every_routine_and_view_and_no_other,
);

fn a_user_takes_numbers_with_execute_alone(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    server.query("CALL shardid.create_ticket('granted', 1, 1); CREATE USER taker IDENTIFIED BY 'secret of taker'");
    let client = &mut server.connect();
    expect_nothing(
        &mut server.try_connect_as("taker", "secret of taker").expect("it may connect"),
        shard,
    );
    for function in ["next_ticket", "next_id", "id_time"] {
        query::<u64>(client, &format!("GRANT EXECUTE ON FUNCTION shardid.{function} TO taker"));
    }
    query::<u64>(client, "GRANT SELECT ON shardid.tickets TO taker");
    let taker = &mut server.try_connect_as("taker", "secret of taker").expect("it may connect");
    assert_eq!(query::<u64>(taker, "SELECT shardid.next_ticket('granted')"), [1]);
    query::<String>(
        taker,
        &format!("SELECT CAST(shardid.id_time(shardid.next_id({shard})) AS CHAR)"),
    );
    assert_eq!(
        query::<u64>(taker, "SELECT last_ticket FROM shardid.tickets WHERE name = 'granted'"),
        [1]
    );
    expect_refused(taker, "CALL shardid.drop_ticket('granted')", "42000");
    expect_refused(taker, "SELECT * FROM shardid.ticket", "42000");
    expect_refused(taker, "UPDATE shardid.ticket SET last_ticket = 0", "42000");
}

fn expect_nothing(taker: &mut shardid_tests::mysql::Conn, shard: u32) {
    expect_refused(taker, "SELECT shardid.next_ticket('granted')", "42000");
    expect_refused(taker, &format!("SELECT shardid.next_id({shard})"), "42000");
}

fn every_object_has_a_comment_and_its_security(engine: Engine) {
    let server = shared(engine);
    let bare: Vec<String> = query(
        &mut server.connect(),
        "SELECT routine_name FROM information_schema.routines
         WHERE routine_schema = 'shardid' AND (routine_comment = '' OR security_type <> 'DEFINER')
         UNION ALL SELECT table_name FROM information_schema.tables
         WHERE table_schema = 'shardid' AND table_type <> 'VIEW' AND (table_comment NOT LIKE 'shardid: %' OR engine <> 'InnoDB')",
    );
    assert_eq!(bare, ["create_flickr_view"], "only this one runs as whoever calls it");
}

/// As the page writes them; lengths are left out, and MariaDB has its JSON as text.
const SURFACE: &str = "
    SELECT concat('shardid.', r.routine_name, '(', coalesce((
               SELECT group_concat(p.parameter_name, ' ', regexp_replace(p.dtd_identifier, '[(][0-9]+[)]', '')
                                   ORDER BY p.ordinal_position SEPARATOR ', ')
               FROM information_schema.parameters p
               WHERE p.specific_schema = 'shardid' AND p.specific_name = r.specific_name
                 AND p.routine_type = r.routine_type AND p.ordinal_position > 0), ''), ')',
               if(r.routine_type = 'FUNCTION',
                  concat(' → ', replace(regexp_replace(r.dtd_identifier, '[(][0-9]+[)]', ''), 'longtext', 'json')), ''))
    FROM information_schema.routines r WHERE r.routine_schema = 'shardid'
    UNION ALL
    SELECT concat('shardid.', v.table_name, '` | `',
                  group_concat(c.column_name ORDER BY c.ordinal_position SEPARATOR ', '))
    FROM information_schema.views v
    JOIN information_schema.columns c ON c.table_schema = v.table_schema AND c.table_name = v.table_name
    WHERE v.table_schema = 'shardid' GROUP BY v.table_name";

fn the_reference_page_has_every_routine_and_view_and_no_other(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "SET NAMES utf8mb4");
    let mut present: Vec<String> = query(client, SURFACE);
    let page = docs::read("docs/mysql-reference.md");
    let mut told: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, rest)| match name.contains('(') {
            true => name.to_owned(),
            false => format!("{name}` |{}", rest.trim_end_matches("` |")),
        })
        .collect();
    present.sort();
    told.sort();
    assert_eq!(told, present);
}
