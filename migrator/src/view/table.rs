//! Tables that are pleasant on a terminal and plain everywhere else.

use std::fmt;

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement};

/// A column's name and on which side its values stand.
pub(crate) struct Column {
    name: &'static str,
    alignment: CellAlignment,
}

impl Column {
    /// Texts.
    pub(crate) fn left(name: &'static str) -> Self {
        Self { name, alignment: CellAlignment::Left }
    }

    /// Numbers.
    pub(crate) fn right(name: &'static str) -> Self {
        Self { name, alignment: CellAlignment::Right }
    }
}

/// Rows under a line of names, without a frame.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// A table of these columns.
    pub(crate) fn new<const N: usize>(columns: [Column; N]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        if !colored() {
            table.force_no_tty();
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        let head = |column: &Column| {
            Cell::new(column.name).add_attribute(Attribute::Bold).set_alignment(column.alignment)
        };
        table.set_header(columns.iter().map(head).collect::<Vec<_>>());
        for (i, column) in columns.iter().enumerate() {
            if let Some(place) = table.column_mut(i) {
                place.set_cell_alignment(column.alignment);
                place.set_padding((0, 2));
            }
        }
        Self(table)
    }

    /// Adds a row of as many values as there are columns.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.add_row(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.0.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Whether stdout is a terminal that wants colour.
fn colored() -> bool {
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    choice != anstream::ColorChoice::Never
}
