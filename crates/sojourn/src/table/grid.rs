//! A table that fits: names wrap between words, numbers keep to their line, and where that is not enough columns go
//! before words break.
//!
//! comfy-table draws. Its own arrangement breaks words and numbers to make room, so every cell reaches it in lines that
//! fit. The price is that a narrow table says less; a line below it says what is missing and where it stands. What must not be
//! missing goes on in a further table with the same names ([`Grid::continued`]).

use std::fmt;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::text::{paragraph, width};

/// The frame on either side, a space before the first column, and what the last one has no need of.
const FRAME: usize = 2;
/// A space after each column, and another between two.
const PADDING: usize = 2;
/// The sides of a row's line.
const SIDES: [&str; 2] = ["│ ", " │"];
/// Stands in the place of a heading until the table is drawn; of private use, so that no text has it.
const HEADING: char = '\u{e000}';
/// Lines of a name after its first, so that rows can be told apart.
const HANG: &str = "  ";
/// A longer name may be broken to make room for a column, a shorter one is not.
const NAME: usize = 24;

/// Rows under a header. The first column is names, the others are numbers unless said otherwise.
pub(crate) struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The texts of the rows that are a text from side to side; what stands in the row is [`HEADING`].
    headings: Vec<String>,
    /// Which columns are text.
    text: Vec<bool>,
    /// The columns that may be left out, the first of them first.
    spare: Vec<usize>,
    /// Where a reader finds what is left out.
    elsewhere: &'static str,
}

impl Grid {
    /// A table without rows. Of columns all but the first may be left out, the last of them first.
    pub(crate) fn new<T: ToString>(header: &[T]) -> Grid {
        let columns = header.len();
        Grid {
            header: header.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
            headings: Vec::new(),
            text: (0..columns).map(|column| column == 0).collect(),
            spare: (1..columns).rev().collect(),
            elsewhere: "--json",
        }
    }

    /// These columns are text too.
    pub(crate) fn text(mut self, columns: &[usize]) -> Grid {
        columns.iter().for_each(|column| self.text[*column] = true);
        self
    }

    /// These columns may be left out, in this order, and no others.
    pub(crate) fn spare(mut self, columns: &[usize]) -> Grid {
        self.spare = columns.to_vec();
        self
    }

    /// Where what is left out can be read instead of in `--json`.
    pub(crate) fn elsewhere(mut self, place: &'static str) -> Grid {
        self.elsewhere = place;
        self
    }

    pub(crate) fn add_row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// A text above the rows that follow, from side to side of the table.
    pub(crate) fn add_heading(&mut self, text: &str) {
        self.rows.push(vec![HEADING.to_string()]);
        self.headings.push(text.to_owned());
    }

    /// Whether all of it can be drawn `width` columns wide.
    pub(crate) fn fits(&self, width: usize) -> bool {
        let needed: usize = (0..self.header.len()).map(|column| self.least(column) + PADDING).sum();
        FRAME + needed <= width
    }

    /// All of it, `width` columns wide where it [fits](Grid::fits).
    pub(crate) fn whole(&self, width: usize) -> String {
        self.drawn(width).0
    }

    /// As much of it as has room in so many columns, and below it what has none.
    pub(crate) fn at_most(&self, width: usize) -> String {
        let (table, gone) = self.drawn(width);
        if gone.is_empty() {
            return table;
        }
        let gone = format!("No room for: {}; {} has all.", gone.join(", "), self.elsewhere);
        format!("{table}\n{}", paragraph("  ", &gone))
    }

    /// All of its columns, in as many tables below each other as they take.
    pub(crate) fn continued(&self) -> String {
        self.tables(width()).join("\n")
    }

    /// The same in tables that are `width` columns wide at most, each with the names.
    fn tables(&self, width: usize) -> Vec<String> {
        let least: Vec<usize> = (0..self.header.len()).map(|column| self.least(column)).collect();
        let names = self.rows.iter().filter_map(|row| row.first()).map(|name| length(name)).max().unwrap_or(0);
        let names = least[0].max(names.min(NAME));
        let mut tables: Vec<Vec<usize>> = Vec::new();
        for column in 1..self.header.len() {
            let fits = |columns: &&mut Vec<usize>| {
                let numbers = columns[1..].iter().chain([&column]).map(|column| least[*column] + PADDING);
                FRAME + names + PADDING + numbers.sum::<usize>() <= width
            };
            match tables.last_mut().filter(fits) {
                Some(columns) => columns.push(column),
                None => tables.push(vec![0, column]),
            }
        }
        tables.iter().map(|columns| self.of_columns(columns).drawn(width).0).collect()
    }

    /// The table of these columns alone, of which none may be left out.
    fn of_columns(&self, columns: &[usize]) -> Grid {
        let picked = |cells: &Vec<String>| -> Vec<String> {
            columns.iter().map(|column| cells.get(*column).cloned().unwrap_or_default()).collect()
        };
        Grid {
            header: picked(&self.header),
            rows: self.rows.iter().map(picked).collect(),
            headings: self.headings.clone(),
            text: columns.iter().map(|column| self.text[*column]).collect(),
            spare: Vec::new(),
            elsewhere: self.elsewhere,
        }
    }

    /// The table `width` columns wide at most, and the headings of the columns that it has no room for.
    fn drawn(&self, width: usize) -> (String, Vec<&str>) {
        let least: Vec<usize> = (0..self.header.len()).map(|column| self.least(column)).collect();
        let kept = self.kept(&least, width);
        let widths = self.lowest(&kept, &least, width);
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Disabled);
        let row = |cells: &[String], is_header: bool| {
            let cell = |(place, column): (usize, &usize)| {
                let text = cells.get(*column).map_or("", String::as_str);
                self.lines(*column, text, is_header, widths[place]).join("\n")
            };
            kept.iter().enumerate().map(cell).collect::<Vec<String>>()
        };
        table.set_header(row(&self.header, true));
        for cells in &self.rows {
            table.add_row(row(cells, false));
        }
        for (place, column) in kept.iter().enumerate() {
            let drawn = table.column_mut(place).expect("it was just drawn");
            drawn.set_padding((u16::from(place == 0), 1));
            if !self.text[*column] {
                drawn.set_cell_alignment(CellAlignment::Right);
            }
        }
        let gone = (0..self.header.len()).filter(|column| !kept.contains(column));
        (self.headed(&table.to_string()), gone.map(|column| self.header[column].as_str()).collect())
    }

    /// The table with its headings, over the whole line that each has.
    fn headed(&self, table: &str) -> String {
        let mut headings = self.headings.iter();
        let lines = table.lines().flat_map(|line| {
            let Some(text) = line.contains(HEADING).then(|| headings.next()).flatten() else {
                return vec![line.to_owned()];
            };
            let inside = length(line).saturating_sub(length(SIDES[0]) + length(SIDES[1]));
            let whole = |part: String| format!("{}{part:<inside$}{}", SIDES[0], SIDES[1]);
            self.lines(0, text, false, inside).into_iter().map(whole).collect()
        });
        lines.collect::<Vec<String>>().join("\n")
    }

    /// The columns that there is room for: those that may go are left out until the others fit, and come back if they
    /// still do.
    fn kept(&self, least: &[usize], width: usize) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.header.len()).collect();
        let needs = |kept: &[usize]| FRAME + kept.iter().map(|column| least[*column] + PADDING).sum::<usize>();
        let mut gone = Vec::new();
        for column in &self.spare {
            if needs(&kept) <= width {
                break;
            }
            kept.retain(|other| other != column);
            gone.push(*column);
        }
        for column in gone.into_iter().rev() {
            if needs(&kept) + least[column] + PADDING <= width {
                kept.push(column);
                kept.sort_unstable();
            }
        }
        kept
    }

    /// The widths of the lowest table: with headings in one line, or in two, or in as many as they take at least.
    fn lowest(&self, kept: &[usize], least: &[usize], width: usize) -> Vec<usize> {
        let heading = |column: usize, width: usize| self.lines(column, &self.header[column], true, width).len();
        let tallest = kept.iter().map(|&column| heading(column, least[column])).max().unwrap_or(1);
        let tries = (1..=tallest).filter_map(|lines| {
            let mut least = least.to_vec();
            for &column in kept {
                least[column] = (least[column]..=width).find(|&width| heading(column, width) <= lines)?;
            }
            let needed = FRAME + kept.iter().map(|&column| least[column] + PADDING).sum::<usize>();
            (needed <= width).then(|| self.shared(kept, &least, width))
        });
        let narrow = || kept.iter().map(|&column| least[column]).collect();
        tries.min_by_key(|widths| self.height(kept, widths)).unwrap_or_else(narrow)
    }

    /// The lines of the table with columns of these widths, its frame aside.
    fn height(&self, kept: &[usize], widths: &[usize]) -> usize {
        let of = |cells: &[String], is_header: bool| {
            let lines = kept.iter().zip(widths).map(|(&column, &width)| {
                self.lines(column, cells.get(column).map_or("", String::as_str), is_header, width).len()
            });
            lines.max().unwrap_or(0)
        };
        of(&self.header, true) + self.rows.iter().map(|cells| of(cells, false)).sum::<usize>()
    }

    /// The width of each column: what it needs at least; of the rest as many as possible get all that their cells want,
    /// and what is left goes where most lines can be saved.
    fn shared(&self, kept: &[usize], least: &[usize], width: usize) -> Vec<usize> {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column)).map(|cell| length(cell));
        let natural: Vec<usize> =
            kept.iter().map(|column| cells(*column).max().unwrap_or(0).max(least[*column])).collect();
        let mut widths: Vec<usize> = kept.iter().map(|column| least[*column]).collect();
        let used = FRAME + widths.iter().map(|width| width + PADDING).sum::<usize>();
        let mut left = width.saturating_sub(used);
        let mut places: Vec<usize> = (0..widths.len()).collect();
        places.sort_by_key(|place| natural[*place] - widths[*place]);
        for place in places {
            let wanted = natural[place] - widths[place];
            if wanted <= left {
                (widths[place], left) = (natural[place], left - wanted);
            }
        }
        for _ in 0..left {
            let lines = |place: &usize| natural[*place] * 1000 / widths[*place].max(1);
            let wants = (0..widths.len()).filter(|place| widths[*place] < natural[*place]).max_by_key(lines);
            let Some(place) = wants else { break };
            widths[place] += 1;
        }
        widths
    }

    /// The least width of a column in which no word and no number is broken.
    fn least(&self, column: usize) -> usize {
        let of = |cell: &String, is_header: bool| {
            let hang = if column == 0 && !is_header { HANG.len() } else { 0 };
            let parts = self.parts(column, cell, is_header);
            let wide = |(index, part): (usize, &&str)| length(part.trim_end()) + if index > 0 { hang } else { 0 };
            parts.iter().enumerate().map(wide).max().unwrap_or(0)
        };
        let rows = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| of(cell, false));
        rows.chain([of(&self.header[column], true)]).max().unwrap_or(0)
    }

    /// What of a cell stays together: a word of a text; a number with its unit, and its interval.
    fn parts<'a>(&self, column: usize, cell: &'a str, is_header: bool) -> Vec<&'a str> {
        let first = cell.trim_start();
        let is_number = first.starts_with(|first: char| !first.is_alphabetic()) || cell.starts_with("exactly ");
        let is_number = is_number && !(is_header || self.text[column] && column > 0);
        let (number, rest) = match cell.find(" (") {
            Some(at) if is_number => cell.split_at(at + 1),
            _ if is_number => (cell, ""),
            _ => ("", cell),
        };
        let is_interval = is_number && !rest.trim_start_matches('(').starts_with(char::is_alphabetic);
        let rest = if is_interval { vec![rest] } else { words(rest) };
        number.split_inclusive(", ").chain(rest).filter(|part| !part.is_empty()).collect()
    }

    /// A cell in lines of at most `width`.
    fn lines(&self, column: usize, cell: &str, is_header: bool, width: usize) -> Vec<String> {
        let mut lines = vec![String::new()];
        for part in self.parts(column, cell, is_header) {
            let line = lines.last_mut().expect("there is a first one");
            if line.is_empty() || length(line) + length(part.trim_end()) <= width {
                line.push_str(part);
            } else {
                let hang = if column == 0 && !is_header { HANG } else { "" };
                lines.push(format!("{hang}{part}"));
            }
        }
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at_most(width()))
    }
}

/// The words of a text with what separates them; a law's name is one, and so is each of its parameters.
fn words(text: &str) -> Vec<&str> {
    let opens = |at: usize| text[..at].ends_with(char::is_alphanumeric);
    let breaks = text.char_indices().filter(|(at, c)| *c == ' ' || *c == '(' && opens(*at)).map(|(at, _)| at + 1);
    let ends: Vec<usize> = breaks.chain([text.len()]).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(from, to)| &text[from..*to]).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(&["variant", "theory", "sim - theory", "sim"]).spare(&[2, 3]);
        grid.add_row(["round-trip(window = 100 ms), limited-ps", "-", "+1.0 %", "46.07 ms (45.50 to 46.60 ms)"]);
        grid.add_row(["random, ps", "24.95 ms", "", "too few samples"]);
        grid
    }

    fn widest(text: &str) -> usize {
        text.lines().map(length).max().unwrap_or(0)
    }

    #[test]
    fn every_word_and_number_stays_whole_at_any_width_that_can_hold_them() {
        let grid = grid();
        let (_, none) = grid.drawn(200);
        assert!(none.is_empty());
        for width in 26..120 {
            let (text, gone) = grid.drawn(width);
            assert!(widest(&text) <= width, "{width}:\n{text}");
            for word in ["round-trip(", "limited-ps", "24.95 ms"] {
                assert!(text.contains(word), "{width}: {word} is broken\n{text}");
            }
            let shows_sim = !gone.contains(&"sim");
            assert_eq!(shows_sim, text.contains("(45.50 to 46.60 ms)"), "{width}:\n{text}");
        }
    }

    #[test]
    fn what_may_go_goes_in_its_order() {
        let grid = grid();
        let (text, gone) = grid.drawn(52);
        assert_eq!(gone, ["sim - theory"], "{text}");
        let (text, gone) = grid.drawn(30);
        assert_eq!(gone, ["sim - theory", "sim"], "{text}");
        let (text, gone) = grid.drawn(36);
        assert_eq!(gone, ["sim"], "a narrow one has room again: {text}");
    }

    #[test]
    fn what_must_not_be_missing_goes_on_in_a_further_table() {
        let mut grid = Grid::new(&["variant", "failed sim", "given up sim", "attempts sim", "p99 sim"]);
        grid.add_row(["least-connections, servers 4", "12.34 ± 0.56 %", "7.01 (6.02 to 8.90) %", "1.234", "61.2 ms"]);
        grid.add_row(["random, servers 4", "0 (0 to 0.0123) %", "0 (0 to 0.0123) %", "1.000", "too few"]);
        assert!(grid.drawn(60).1.contains(&"attempts sim"), "as any other table it would lose columns");
        // The names take 28 columns with the frame, and the others 17, 18, 10 and 9.
        for (width, count) in [(48, 3), (62, 3), (63, 2), (81, 2), (82, 1)] {
            let tables = grid.tables(width);
            let text = tables.join("\n");
            assert!(widest(&text) <= width, "{width}:\n{text}");
            for part in ["12.34 ± 0.56 %", "(6.02 to 8.90) %", "attempts", "1.234", "p99", "61.2 ms", "too few"] {
                assert_eq!(text.matches(part).count(), 1, "{width}: {part}\n{text}");
            }
            assert!(tables.iter().all(|table| table.contains("least-connections,")), "{width}:\n{text}");
            assert_eq!(tables.len(), count, "{width}:\n{text}");
        }
        assert_eq!(grid.tables(200), [grid.drawn(200).0]);
    }

    #[test]
    fn headings_take_the_fewest_lines_that_there_is_room_for() {
        let mut grid = Grid::new(&["of", "response time (theory)", "response time (sim)", "throughput (theory)"]);
        grid.add_row(["connection", "11.11 ms", "11.10 ± 0.01 ms", "10.00 /s"]);
        // Framed by three lines, with a row of one.
        let heading = |width: usize| grid.drawn(width).0.lines().count() - 4;
        assert_eq!((heading(90), heading(62), heading(56)), (1, 2, 3));
        assert_eq!(grid.drawn(62).1, [""; 0], "nothing is left out for it");
        // Not where the rows would take more lines for it.
        let mut names = Grid::new(&["variant", "sim - theory", "live - twin"]).spare(&[]);
        names.add_row(["round-trip(window = 100 ms), ps", "+1.0 %", "+2.0 %"]);
        names.add_row(["round-trip(window = 200 ms), ps", "+1.0 %", "+2.0 %"]);
        let (table, _) = names.drawn(54);
        assert_eq!(table.lines().count(), 3 + 2 + 2, "{table}");
    }

    /// A heading takes no room from the columns below it, and has lines of its own where it is longer than the table.
    #[test]
    fn a_heading_stands_from_side_to_side() {
        let mut grid = Grid::new(&["of", "A", "verdict"]).text(&[2]).spare(&[]);
        for heading in ["random, servers 4, utilization 0.95", "least-connections"] {
            grid.add_heading(heading);
            grid.add_row(["  mean sim", "198.5 us", "B is slower"]);
        }
        let text = grid.drawn(80).0;
        let inside = |line: &str| line.trim_start_matches("│ ").trim_end_matches(['│', ' ']).to_owned();
        let lines: Vec<String> = text.lines().skip(3).map(inside).collect();
        let row = "  mean sim  198.5 us  B is slower";
        assert_eq!(lines[..5], ["random, servers 4, utilization", "  0.95", row, "least-connections", row], "{text}");
        let wide = widest(&text);
        assert!(text.lines().all(|line| length(line) == wide) && wide < 40, "{text}");
        assert!(!text.contains(HEADING), "{text}");
    }

    #[test]
    fn a_table_that_fits_is_on_one_line_a_row() {
        let (text, _) = grid().drawn(200);
        assert_eq!(text.lines().count(), 6, "{text}");
    }
}
