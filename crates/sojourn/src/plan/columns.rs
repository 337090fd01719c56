//! Tables of any number of objectives on a page of some width: what has no room beside the rest stands below it.

use crate::table::{self, Grid};

/// A column of a table of the plan.
pub(super) struct Column {
    head: String,
    cells: Vec<String>,
    is_text: bool,
}

impl Column {
    /// One of words.
    pub(super) fn of_text(head: &str, cells: Vec<String>) -> Column {
        Column { head: head.into(), cells, is_text: true }
    }

    /// One of numbers.
    pub(super) fn of_numbers(head: &str, cells: Vec<String>) -> Column {
        Column { head: head.into(), cells, is_text: false }
    }

    /// Whether every row, of several, has the same here.
    fn is_same(&self) -> bool {
        self.cells.len() > 1 && self.cells.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// These columns as tables at most `width` wide: one where there is room for it. Else what is the same in all rows is said once
/// before it, and the other columns stand in as many tables as it takes, each of which begins with the first column.
pub(super) fn tables(columns: &[Column], width: usize) -> Vec<String> {
    let all: Vec<&Column> = columns.iter().collect();
    if grid(&all).fits(width) {
        return vec![grid(&all).whole(width)];
    }
    let (first, others) = (all[0], &all[1..]);
    let (same, others): (Vec<&Column>, Vec<&Column>) = others.iter().copied().partition(|column| column.is_same());
    let mut parts = Vec::new();
    if !same.is_empty() {
        let said: Vec<String> = same.iter().map(|column| format!("{}: {}", column.head, column.cells[0])).collect();
        parts.push(table::paragraph("", &format!("The same for all that follow: {}.", said.join("; "))));
    }
    let mut kept = vec![first];
    for column in others {
        kept.push(column);
        if kept.len() > 2 && !grid(&kept).fits(width) {
            kept.pop();
            parts.push(grid(&kept).whole(width));
            kept = vec![first, column];
        }
    }
    parts.push(grid(&kept).whole(width));
    parts
}

fn grid(columns: &[&Column]) -> Grid {
    let heads: Vec<&str> = columns.iter().map(|column| column.head.as_str()).collect();
    let text: Vec<usize> = (0..columns.len()).filter(|column| columns[*column].is_text).collect();
    let mut grid = Grid::new(&heads).text(&text).spare(&[]);
    for row in 0..columns[0].cells.len() {
        grid.add_row(columns.iter().map(|column| column.cells[row].as_str()));
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three systems under so many objectives.
    fn columns(objectives: usize) -> Vec<Column> {
        let cells = |of: &dyn Fn(usize) -> String| -> Vec<String> { (4..7).map(of).collect() };
        let mut columns = vec![
            Column::of_text("cheapest first", cells(&|n| format!("servers {n}, helpers 16, least-connections"))),
            Column::of_numbers("cost (EUR a month)", cells(&|n| format!("{}", 60 * n))),
            Column::of_text("busy", cells(&|_| "servers 67 %".into())),
        ];
        columns.extend((0..objectives).map(|number| {
            let head = format!("response_time_p99 < 150 ms with fault {number}");
            Column::of_numbers(&head, cells(&|n| format!("{n}.15 ms (82.5 to 8{n}.8 ms)")))
        }));
        columns
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn as_many_objectives_as_there_are_fit() {
        for (objectives, width) in (0..9).flat_map(|objectives| [(objectives, 80), (objectives, 100)]) {
            let parts = tables(&columns(objectives), width);
            let text = parts.join("\n");
            assert!(widest(&text) <= width, "{objectives}:\n{text}");
            for number in 4..7 {
                let values = text.matches(&format!("{number}.15 ms")).count();
                assert_eq!(values, objectives, "each objective is told once:\n{text}");
            }
            let busy = text.matches("67 %").count();
            assert_eq!(busy, if parts[0].starts_with("The same") { 1 } else { 3 }, "{text}");
        }
        let narrow = tables(&columns(4), 80);
        assert!(narrow[0].starts_with("The same for all that follow: busy: servers 67 %."), "{narrow:?}");
        assert!(narrow.len() > 2 && tables(&columns(1), 100).len() == 1, "{narrow:?}");
    }

    /// What fits is one table, equal columns too; of one row nothing is equal.
    #[test]
    fn what_fits_is_one_table() {
        let two = |cell: &str, other: &str| vec![cell.to_owned(), other.to_owned()];
        let few = [Column::of_text("of", two("a", "b")), Column::of_numbers("x", two("1", "1"))];
        let parts = tables(&few, 80);
        assert!(parts.len() == 1 && parts[0].contains(" x "), "{parts:?}");
        let wide = |number: u32| Column::of_numbers(&format!("objective {number}"), vec!["12345678901234567".into()]);
        let of_one_row: Vec<Column> = (0..9).map(wide).collect();
        assert!(tables(&of_one_row, 80).iter().all(|part| !part.contains("The same")));
    }
}
