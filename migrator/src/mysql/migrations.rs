//! The files under `sql/mysql` that are run once on a server, in order.

use crate::mysql::sql;

type Files<const N: usize> = [(&'static str, &'static str); N];

/// Those of a catalogue. Released ones never change.
pub(super) const CATALOG: Files<1> = [("V1__ticket", sql!("catalog/V1__ticket.sql"))];

/// Those for all engines.
pub(super) const COMMON: Files<17> = [
    ("V1__server", sql!("common/V1__server.sql")),
    ("V2__ticket", sql!("common/V2__ticket.sql")),
    ("V3__create_ticket", sql!("common/V3__create_ticket.sql")),
    ("V4__change_ticket", sql!("common/V4__change_ticket.sql")),
    ("V5__next_ticket", sql!("common/V5__next_ticket.sql")),
    ("V6__flickr_tables", sql!("common/V6__flickr_tables.sql")),
    ("V7__flickr_triggers", sql!("common/V7__flickr_triggers.sql")),
    ("V8__create_flickr_tables", sql!("common/V8__create_flickr_tables.sql")),
    ("V9__layout", sql!("common/V9__layout.sql")),
    ("V10__read_ids", sql!("common/V10__read_ids.sql")),
    ("V11__id_text", sql!("common/V11__id_text.sql")),
    ("V12__shard", sql!("common/V12__shard.sql")),
    ("V13__position", sql!("common/V13__position.sql")),
    ("V14__next_id", sql!("common/V14__next_id.sql")),
    ("V15__segment", sql!("common/V15__segment.sql")),
    ("V16__next_segment", sql!("common/V16__next_segment.sql")),
    ("V17__id_trigger", sql!("common/V17__id_trigger.sql")),
];

/// Those for MariaDB alone.
pub(super) const MARIADB: Files<1> = [("V18__clear_block", sql!("mariadb/V18__clear_block.sql"))];

/// Those for MySQL alone.
pub(super) const MYSQL: Files<1> = [("V18__clear_block", sql!("mysql/V18__clear_block.sql"))];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_in_the_folders_is_run() {
        let lists: [(&str, &[(&str, &str)]); 4] =
            [("catalog", &CATALOG), ("common", &COMMON), ("mariadb", &MARIADB), ("mysql", &MYSQL)];
        for (folder, listed) in lists {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/mysql/").to_owned() + folder;
            // An engine that needs nothing of its own has no folder.
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
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
