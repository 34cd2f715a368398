//! The files under `sql/mysql` that are run once on a server, in order.

use crate::mysql::sql;

type Files<const N: usize> = [(&'static str, &'static str); N];

/// Those of a catalog. Released ones never change.
pub(super) const CATALOG: Files<2> = [
    ("V1__ticket", sql!("catalog/V1__ticket.sql")),
    ("V3__ticket_term", sql!("catalog/V3__ticket_term.sql")),
];

/// Those of the schema that hands out ids and tickets, for both engines.
pub(super) const SCHEMA: Files<58> = [
    ("V1__server", sql!("schema/V1__server.sql")),
    ("V2__ticket", sql!("schema/V2__ticket.sql")),
    ("V3__create_ticket", sql!("schema/V3__create_ticket.sql")),
    ("V4__change_ticket", sql!("schema/V4__change_ticket.sql")),
    ("V5__next_ticket", sql!("schema/V5__next_ticket.sql")),
    ("V6__flickr_tables", sql!("schema/V6__flickr_tables.sql")),
    ("V7__flickr_triggers", sql!("schema/V7__flickr_triggers.sql")),
    ("V8__create_flickr_tables", sql!("schema/V8__create_flickr_tables.sql")),
    ("V9__layout", sql!("schema/V9__layout.sql")),
    ("V10__read_ids", sql!("schema/V10__read_ids.sql")),
    ("V11__id_text", sql!("schema/V11__id_text.sql")),
    ("V12__shard", sql!("schema/V12__shard.sql")),
    ("V13__position", sql!("schema/V13__position.sql")),
    ("V14__next_id", sql!("schema/V14__next_id.sql")),
    ("V15__segment", sql!("schema/V15__segment.sql")),
    ("V16__next_segment", sql!("schema/V16__next_segment.sql")),
    ("V17__id_trigger", sql!("schema/V17__id_trigger.sql")),
    ("V18__note_block", sql!("schema/V18__note_block.sql")),
    ("V19__home", sql!("schema/V19__home.sql")),
    ("V20__counter", sql!("schema/V20__counter.sql")),
    ("V21__draw_id", sql!("schema/V21__draw_id.sql")),
    ("V22__create_shard", sql!("schema/V22__create_shard.sql")),
    ("V23__ticket_blocks", sql!("schema/V23__ticket_blocks.sql")),
    ("V24__read_ids", sql!("schema/V24__read_ids.sql")),
    ("V25__next_tickets", sql!("schema/V25__next_tickets.sql")),
    ("V26__flickr_of_here", sql!("schema/V26__flickr_of_here.sql")),
    ("V27__segments_of_here", sql!("schema/V27__segments_of_here.sql")),
    ("V28__adopt", sql!("schema/V28__adopt.sql")),
    ("V29__shard_for", sql!("schema/V29__shard_for.sql")),
    ("V30__lower_counters", sql!("schema/V30__lower_counters.sql")),
    ("V31__zones", sql!("schema/V31__zones.sql")),
    ("V32__flickr_database", sql!("schema/V32__flickr_database.sql")),
    ("V33__fence_counters", sql!("schema/V33__fence_counters.sql")),
    ("V34__flickr_rows_stay", sql!("schema/V34__flickr_rows_stay.sql")),
    ("V35__home_comes_with_the_row", sql!("schema/V35__home_comes_with_the_row.sql")),
    ("V36__clock_of_now", sql!("schema/V36__clock_of_now.sql")),
    ("V37__blocks_of_before", sql!("schema/V37__blocks_of_before.sql")),
    ("V38__lowering_that_was_cut", sql!("schema/V38__lowering_that_was_cut.sql")),
    ("V39__refused_before", sql!("schema/V39__refused_before.sql")),
    ("V40__as_it_is_written", sql!("schema/V40__as_it_is_written.sql")),
    ("V41__read_only_for_all", sql!("schema/V41__read_only_for_all.sql")),
    ("V42__gapless_of_another", sql!("schema/V42__gapless_of_another.sql")),
    ("V43__databases_in_lower_case", sql!("schema/V43__databases_in_lower_case.sql")),
    ("V44__flickr_by_create_view", sql!("schema/V44__flickr_by_create_view.sql")),
    ("V45__said_as_it_is", sql!("schema/V45__said_as_it_is.sql")),
    ("V46__no_table_is_missed", sql!("schema/V46__no_table_is_missed.sql")),
    ("V47__whatever_a_session_has_set", sql!("schema/V47__whatever_a_session_has_set.sql")),
    ("V48__prepared_by_xa", sql!("schema/V48__prepared_by_xa.sql")),
    ("V49__as_many_shards_as_are_said", sql!("schema/V49__as_many_shards_as_are_said.sql")),
    ("V50__counters_of_here", sql!("schema/V50__counters_of_here.sql")),
    ("V51__dropped_is_looked_at", sql!("schema/V51__dropped_is_looked_at.sql")),
    ("V52__with_snapshot_isolation", sql!("schema/V52__with_snapshot_isolation.sql")),
    ("V53__noted_by_others", sql!("schema/V53__noted_by_others.sql")),
    ("V54__names_of_the_catalog", sql!("schema/V54__names_of_the_catalog.sql")),
    ("V55__one_block_at_a_time", sql!("schema/V55__one_block_at_a_time.sql")),
    ("V56__no_view_is_opened", sql!("schema/V56__no_view_is_opened.sql")),
    ("V57__in_the_order_of_a_session", sql!("schema/V57__in_the_order_of_a_session.sql")),
    ("V58__of_this_engine", sql!("schema/V58__of_this_engine.sql")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_in_the_folders_is_run() {
        let lists: [(&str, &[(&str, &str)]); 2] = [("catalog", &CATALOG), ("schema", &SCHEMA)];
        for (folder, listed) in lists {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/mysql/").to_owned() + folder;
            let files = std::fs::read_dir(path).expect("the folder is there").flatten();
            let mut files: Vec<String> = files
                .filter_map(|file| file.file_name().into_string().ok())
                .filter_map(|name| name.strip_suffix(".sql").map(str::to_owned))
                .collect();
            files.sort();
            let mut names: Vec<&str> = listed.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            assert_eq!(names, files, "in sql/mysql/{folder}");
        }
    }
}
